#!/bin/sh
# Tell dcgm-exporter which job has which GPU: one file per GPU, one job per line.
# A job never waits for or fails over its metrics.
folder=@JOB_MAPPING_DIR@
mkdir -p "$folder" || exit 0
for gpu in $(printf '%s' "${SLURM_JOB_GPUS:-}" | tr ',' ' '); do
    printf '%s\n' "$SLURM_JOB_ID" >> "$folder/$gpu"
done
exit 0
