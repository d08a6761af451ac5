module github.com/rlserver/rlserver

go 1.26.0

require (
	github.com/cockroachdb/datadriven v1.0.3
	github.com/google/go-cmp v0.7.0
	github.com/peterbourgon/ff/v3 v3.4.0
	github.com/tidwall/btree v1.8.2
	github.com/tidwall/redcon v1.6.4
	go.uber.org/goleak v1.3.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/pmezard/go-difflib v1.0.0 // indirect
	github.com/prometheus/client_golang v1.25.0 // indirect
	github.com/tidwall/match v1.1.1 // indirect
)
