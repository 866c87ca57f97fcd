"""LoginSet: pods with sackd, sshd and SSSD, where people log in and submit jobs."""
