#!/bin/sh
# The job has ended: take it out of the files of its GPUs.
folder=@JOB_MAPPING_DIR@
for gpu in $(printf '%s' "${SLURM_JOB_GPUS:-}" | tr ',' ' '); do
    file="$folder/$gpu"
    [ -f "$file" ] || continue
    others=$(grep -vx -- "$SLURM_JOB_ID" "$file")
    if [ -n "$others" ]; then
        printf '%s\n' "$others" > "$file"
    else
        rm -f "$file"
    fi
done
exit 0
