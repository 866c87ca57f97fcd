module windlass.local/pause

go 1.26.0
