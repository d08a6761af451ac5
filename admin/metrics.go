package admin

import (
	"runtime"

	"github.com/rlserver/rlserver/limit"
)

// kind is the type of a metric, in Prometheus' words.
type kind string

const (
	counter   kind = "counter"
	gauge     kind = "gauge"
	histogram kind = "histogram"
)

// label is a label of a metric, and what bounds its values. No label ever
// holds a key.
type label struct{ name, values string }

// metric is one line of the table: what is exported, and what docs/metrics.md
// says of it.
type metric struct {
	name   string
	kind   kind
	help   string
	labels []label
	// read yields the metric's values, each with the values of its labels. A
	// histogram has none: it is read from the snapshot's Latency.
	read func(r *reading, yield func(value float64, labels ...string))
}

// reading is what metrics are read from.
type reading struct {
	Snapshot
	ready    bool
	policies int64   // that exist
	refused  []Count // HTTP requests, by reason

	authFailures uint64 // of HTTP requests
}

// one is the read of a metric without labels.
func one[N int64 | uint64](field func(*reading) N) func(*reading, func(float64, ...string)) {
	return func(r *reading, yield func(float64, ...string)) { yield(float64(field(r))) }
}

// whether is the read of a metric that is 1 or 0.
func whether(field func(*reading) bool) func(*reading, func(float64, ...string)) {
	return func(r *reading, yield func(float64, ...string)) {
		if field(r) {
			yield(1)
		} else {
			yield(0)
		}
	}
}

// byName is the read of a family with one label.
func byName(family func(*reading) []Count) func(*reading, func(float64, ...string)) {
	return func(r *reading, yield func(float64, ...string)) {
		for _, c := range family(r) {
			yield(float64(c.N), c.Name)
		}
	}
}

// byCommand is the read of a number of each command.
func byCommand(field func(*CommandCount) uint64) func(*reading, func(float64, ...string)) {
	return func(r *reading, yield func(float64, ...string)) {
		for i := range r.Commands {
			yield(float64(field(&r.Commands[i])), r.Commands[i].Name)
		}
	}
}

// byOutcome is the read of what policies answered, of which some was denied.
func byOutcome(answers func(*PolicyCount) (all, denied uint64)) func(*reading, func(float64, ...string)) {
	return func(r *reading, yield func(float64, ...string)) {
		all, denied := answers(&r.Policies)
		yield(float64(all-min(all, denied)), "allowed") // the two are not read at once
		yield(float64(denied), "denied")
	}
}

// metrics is the table of everything exported besides what the Go runtime and
// the process tell.
func metrics() []metric {
	outcome := []label{{"outcome", "`allowed`, `denied`"}}
	reason := []label{{"reason", "a fixed set"}}
	command := []label{{"command", "the commands that exist; subcommands as `client|list`"}}
	return []metric{
		{
			name: "rlserver_build_info", kind: gauge,
			help:   "Always 1; the labels say what runs.",
			labels: []label{{"version", "one"}, {"go_version", "one"}},
			read: func(r *reading, yield func(float64, ...string)) {
				yield(1, r.Version, runtime.Version())
			},
		},
		{
			name: "rlserver_ready", kind: gauge,
			help: "1 if the node may be sent requests, else 0; /readyz says why.",
			read: whether(func(r *reading) bool { return r.ready }),
		},
		{
			name: "rlserver_decisions_total", kind: counter,
			help: "Decisions; probes are not among them.",
			labels: []label{
				{"algorithm", "the algorithms that exist, such as `token-bucket`"},
				{"outcome", "`allowed`, `denied`"},
			},
			read: func(r *reading, yield func(float64, ...string)) {
				for _, a := range limit.Algorithms() {
					yield(float64(r.Decisions[a].Allowed), a.String(), "allowed")
					yield(float64(r.Decisions[a].Denied), a.String(), "denied")
				}
			},
		},
		{
			name: "rlserver_decision_duration_seconds", kind: histogram,
			help: "Time from when a decision's command was read to when its reply could leave. In a pipeline that is the time of its batch, counted for each of its decisions.",
		},
		{
			name: "rlserver_decisions_replaced_total", kind: counter,
			help: "Decisions whose slot was lost before their reply left: the reply says that the outcome is unknown.",
			read: one(func(r *reading) uint64 { return r.Replaced }),
		},
		{
			name: "rlserver_keys_too_long_total", kind: counter,
			help: "Requests refused for a key, or what becomes part of one, that is longer than --max-key.",
			read: one(func(r *reading) uint64 { return r.KeysTooLong }),
		},
		{
			name: "rlserver_logs_too_large_total", kind: counter,
			help: "Requests refused for a sliding-log with a limit above --max-log.",
			read: one(func(r *reading) uint64 { return r.LogsTooLarge }),
		},
		{
			name: "rlserver_commands_total", kind: counter, labels: command,
			help: "Commands that ran.",
			read: byCommand(func(c *CommandCount) uint64 { return c.Calls }),
		},
		{
			name: "rlserver_commands_rejected_total", kind: counter, labels: command,
			help: "Commands that did not run: a wrong number of arguments, or no right to it.",
			read: byCommand(func(c *CommandCount) uint64 { return c.Rejected }),
		},
		{
			name: "rlserver_commands_failed_total", kind: counter, labels: command,
			help: "Commands that ran and answered an error.",
			read: byCommand(func(c *CommandCount) uint64 { return c.Failed }),
		},
		{
			name: "rlserver_errors_total", kind: counter,
			help:   "Error replies.",
			labels: []label{{"code", "the first word of the error, such as `ERR`; at most 32"}},
			read:   byName(func(r *reading) []Count { return r.Errors }),
		},
		{
			name: "rlserver_connections", kind: gauge,
			help: "Connections of Redis clients now.",
			read: one(func(r *reading) int64 { return r.Clients }),
		},
		{
			name: "rlserver_connections_max", kind: gauge,
			help: "Most connections at once: --max-clients.",
			read: one(func(r *reading) int64 { return r.MaxClients }),
		},
		{
			name: "rlserver_connections_accepted_total", kind: counter,
			help: "Connections that were let in.",
			read: one(func(r *reading) uint64 { return r.Accepted }),
		},
		{
			name: "rlserver_connections_refused_total", kind: counter, labels: reason,
			help: "Connections that were not let in: too many in all (`clients`), or of one address (`per_addr`), or the server stops.",
			read: byName(func(r *reading) []Count { return r.Refused }),
		},
		{
			name: "rlserver_connections_closed_total", kind: counter, labels: reason,
			help: "Connections that ended, by what ended them: `peer` and `quit` are the clients' doing, `stranger` is too large a command before a password was given.",
			read: byName(func(r *reading) []Count { return r.Closed }),
		},
		{
			name: "rlserver_accept_errors_total", kind: counter,
			help: "Failed attempts to accept a connection, mostly for want of file descriptors.",
			read: one(func(r *reading) uint64 { return r.AcceptErrors }),
		},
		{
			name: "rlserver_panics_total", kind: counter,
			help: "Commands that panicked. Each cost its connection and is a defect: the log has the stack.",
			read: one(func(r *reading) uint64 { return r.Panics }),
		},
		{
			name: "rlserver_auth_failures_total", kind: counter,
			help:   "Wrong passwords, and users who do not exist or are off. The log has names and addresses.",
			labels: []label{{"door", "`redis`, `http`"}},
			read: func(r *reading, yield func(float64, ...string)) {
				yield(float64(r.AuthFailures), "redis")
				yield(float64(r.authFailures), "http")
			},
		},
		{
			name: "rlserver_tls_handshake_failures_total", kind: counter,
			help:   "TLS handshakes that failed or took too long. The log has reasons and addresses.",
			labels: []label{{"door", "`redis`, `http`"}},
			read:   byName(func(r *reading) []Count { return r.HandshakeFailures }),
		},
		{
			name: "rlserver_received_bytes_total", kind: counter,
			help: "Bytes received from Redis clients.",
			read: one(func(r *reading) uint64 { return r.BytesRead }),
		},
		{
			name: "rlserver_sent_bytes_total", kind: counter,
			help: "Bytes sent to Redis clients.",
			read: one(func(r *reading) uint64 { return r.BytesWritten }),
		},
		{
			name: "rlserver_keys", kind: gauge,
			help: "Keys held, full ones that were not swept yet included.",
			read: one(func(r *reading) int64 { return r.Keys }),
		},
		{
			name: "rlserver_specs", kind: gauge,
			help: "Distinct rules (algorithm, limit, window, burst) of the keys held.",
			read: one(func(r *reading) int64 { return r.Specs }),
		},
		{
			name: "rlserver_slots_owned", kind: gauge,
			help: "Hash slots, of 16,384, that this node counts.",
			read: one(func(r *reading) int64 { return r.SlotsOwned }),
		},
		{
			name: "rlserver_memory_bytes", kind: gauge,
			help: "Accounted memory of the keys held.",
			read: one(func(r *reading) int64 { return r.MemoryBuckets }),
		},
		{
			name: "rlserver_memory_limit_bytes", kind: gauge,
			help: "Most that rlserver_memory_bytes may be: --max-memory.",
			read: one(func(r *reading) int64 { return r.MemoryLimit }),
		},
		{
			name: "rlserver_evictions_total", kind: counter,
			help:   "Keys deleted to make room: `full` ones had nothing to remember, `used` ones had, and start anew.",
			labels: []label{{"kind", "`full`, `used`"}},
			read: func(r *reading, yield func(float64, ...string)) {
				yield(float64(r.EvictedFull), "full")
				yield(float64(r.EvictedNotFull), "used")
			},
		},
		{
			name: "rlserver_no_room_total", kind: counter,
			help: "Decisions that failed because no room could be made.",
			read: one(func(r *reading) uint64 { return r.NoRoom }),
		},
		{
			name: "rlserver_swept_total", kind: counter,
			help: "Keys deleted by sweeps: full, and idle for --sweep-idle.",
			read: one(func(r *reading) uint64 { return r.Swept }),
		},
		{
			name: "rlserver_sweeps_total", kind: counter,
			help: "Rounds of the sweeper over all slots.",
			read: one(func(r *reading) uint64 { return r.Sweeps }),
		},
		{
			name: "rlserver_conversions_total", kind: counter,
			help: "Keys that went on under another rule: a roll-out, or two callers that disagree.",
			read: one(func(r *reading) uint64 { return r.Conversions }),
		},
		{
			name: "rlserver_policies", kind: gauge,
			help: "Policies that exist, as this node knows them.",
			read: one(func(r *reading) int64 { return r.policies }),
		},
		{
			name: "rlserver_policy_decisions_total", kind: counter, labels: outcome,
			help: "Answers of policies. A request that policies of several scopes decide counts once for each of them.",
			read: byOutcome(func(c *PolicyCount) (all, denied uint64) { return c.Decisions, c.Denied }),
		},
		{
			name: "rlserver_policy_shadow_decisions_total", kind: counter, labels: outcome,
			help: "What policies in shadow mode would have answered.",
			read: byOutcome(func(c *PolicyCount) (all, denied uint64) { return c.Shadowed, c.ShadowDenied }),
		},
		{
			name: "rlserver_cluster_members", kind: gauge,
			help: "Nodes of the cluster, this one included; 0 until it is part of one.",
			read: one(func(r *reading) int64 { all, _ := r.Cluster.alive(false); return all }),
		},
		{
			name: "rlserver_cluster_members_alive", kind: gauge,
			help: "Nodes of the cluster that answer this one, itself included.",
			read: one(func(r *reading) int64 { _, alive := r.Cluster.alive(false); return alive }),
		},
		{
			name: "rlserver_cluster_voters", kind: gauge,
			help: "Nodes whose majority elects the leader and decides on changes.",
			read: one(func(r *reading) int64 { all, _ := r.Cluster.alive(true); return all }),
		},
		{
			name: "rlserver_cluster_voters_alive", kind: gauge,
			help: "Voters that answer this node, itself included if it votes.",
			read: one(func(r *reading) int64 { _, alive := r.Cluster.alive(true); return alive }),
		},
		{
			name: "rlserver_cluster_has_leader", kind: gauge,
			help: "1 if this node knows a leader, else 0: then policies and members cannot be changed through it.",
			read: whether(func(r *reading) bool { return r.Cluster.Leader != "" }),
		},
		{
			name: "rlserver_cluster_is_leader", kind: gauge,
			help: "1 if this node is the leader, else 0.",
			read: whether(func(r *reading) bool { return r.Cluster.Leads }),
		},
		{
			name: "rlserver_raft_applied_index", kind: gauge,
			help: "Index of the last entry of the replicated log that this node applied. It rises with changes of policies and members.",
			read: one(func(r *reading) uint64 { return r.Cluster.Applied }),
		},
		{
			name: "rlserver_disk_loading", kind: gauge,
			help: "1 while a node that starts reads its keys from the disk, else 0.",
			read: whether(func(r *reading) bool { return r.Disk.Loading }),
		},
		{
			name: "rlserver_disk_stopped", kind: gauge,
			help: "1 while changes are not written to the disk, as it is full or fails, else 0. Decisions go on; INFO persistence says why.",
			read: whether(func(r *reading) bool { return r.Disk.Stopped }),
		},
		{
			name: "rlserver_disk_written_buckets_total", kind: counter,
			help: "Keys that changed and were written to the disk. One that changes often is written once a second; with --sync always, up to 20 times.",
			read: one(func(r *reading) uint64 { return r.Disk.WrittenBuckets }),
		},
		{
			name: "rlserver_disk_written_bytes_total", kind: counter,
			help: "Bytes of rlserver_disk_written_buckets_total. What saves write comes on top.",
			read: one(func(r *reading) uint64 { return r.Disk.WrittenBytes }),
		},
		{
			name: "rlserver_disk_syncs_total", kind: counter,
			help: "Times that what was written was made durable.",
			read: one(func(r *reading) uint64 { return r.Disk.Syncs }),
		},
		{
			name: "rlserver_disk_saves_total", kind: counter,
			help: "Times that all keys were written as a whole: after a start, when enough has changed, by RL.SAVE.",
			read: one(func(r *reading) uint64 { return r.Disk.Saves }),
		},
		{
			name: "rlserver_disk_failures_total", kind: counter,
			help: "Times that writing stopped. It is tried again every 10 seconds.",
			read: one(func(r *reading) uint64 { return r.Disk.Failures }),
		},
		{
			name: "rlserver_disk_damaged_total", kind: counter,
			help: "Parts of files that could not be read at the start: the counts in them are lost. The end of a file that a crash left half written is none.",
			read: one(func(r *reading) uint64 { return r.Disk.Damaged }),
		},
		{
			name: "rlserver_http_refused_total", kind: counter, labels: reason,
			help: "Requests that this HTTP server refused before it looked at what they ask: `host`, `origin`, `auth`.",
			read: byName(func(r *reading) []Count { return r.refused }),
		},
	}
}
