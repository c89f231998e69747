"""The probe script: most questions about a host, asked in one run of a small POSIX sh program."""
