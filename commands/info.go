package commands

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/policy"
)

// INFO [section ...]
func infoCommand() Command {
	return Command{
		Name: "info", Group: GroupServer, Since: "0.1.0",
		Summary:    "Describes the server, in Redis' fields and some of its own.",
		Complexity: "O(1)",
		Flags:      FlagLoading, Keys: noKeys(), Category: CategoryRead,
		Args:  []Arg{{Name: "section", Type: TypeString, Optional: true, Multiple: true}},
		Reply: "text",
		Help: []string{
			"Several sections may be named; all and everything mean every one, default those that INFO alone shows. An unknown one is empty.",
			"commandstats: usec of commands with the flag fast, decisions among them, is what one in 64 of them took, for all: they do not pay for a clock each.",
		},
		Run: runInfo,
	}
}

// infoSection is a chapter of INFO.
type infoSection struct {
	title string
	extra bool // not among the default ones
	lines func(*Call, *ServerInfo, *strings.Builder)
}

func infoSections() []infoSection {
	return []infoSection{
		{"Server", false, (*Call).infoServer},
		{"Clients", false, (*Call).infoClients},
		{"Memory", false, (*Call).infoMemory},
		{"Persistence", false, (*Call).infoPersistence},
		{"Stats", false, (*Call).infoStats},
		{"Replication", false, (*Call).infoReplication},
		{"CPU", false, (*Call).infoCPU},
		{"Modules", false, func(*Call, *ServerInfo, *strings.Builder) {}},
		{"Commandstats", true, (*Call).infoCommands},
		{"Errorstats", false, (*Call).infoErrors},
		{"Ratelimit", false, (*Call).infoRateLimit},
		{"Cluster", false, (*Call).infoCluster},
		{"Keyspace", false, (*Call).infoKeyspace},
	}
}

func runInfo(c *Call) error {
	wanted := make([]string, 0, len(c.Args))
	for _, arg := range c.Args[1:] {
		wanted = append(wanted, strings.ToLower(string(arg)))
	}
	all := slices.Contains(wanted, "all") || slices.Contains(wanted, "everything")
	usual := len(wanted) == 0 || slices.Contains(wanted, "default")
	info := c.d.cfg.Server.Describe()
	var b strings.Builder
	for _, s := range infoSections() {
		named := slices.Contains(wanted, strings.ToLower(s.title))
		if !named && !all && (s.extra || !usual) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString("# " + s.title + "\r\n")
		s.lines(c, &info, &b)
	}
	c.W.Verbatim(b.String())
	return nil
}

func (c *Call) infoServer(i *ServerInfo, b *strings.Builder) {
	up := max(c.Now-i.StartedAt, 0) / second
	fmt.Fprintf(b, "redis_version:%s\r\nrlserver_version:%s\r\nredis_mode:%s\r\nos:%s\r\narch_bits:%d\r\n"+
		"process_id:%d\r\nrun_id:%s\r\nnode:%s\r\ntcp_port:%d\r\nserver_time_usec:%d\r\nuptime_in_seconds:%d\r\nuptime_in_days:%d\r\nexecutable:rlserver\r\n",
		RedisVersion, i.Version, c.d.mode(), i.OS, strconv.IntSize, i.PID, i.RunID, i.Node, port(i.Addr), c.Now/1000, up, up/86400)
}

func (c *Call) infoClients(i *ServerInfo, b *strings.Builder) {
	fmt.Fprintf(b, "connected_clients:%d\r\ncluster_connections:0\r\nmaxclients:%d\r\nblocked_clients:0\r\n", i.Clients, i.MaxClients)
}

func (c *Call) infoMemory(i *ServerInfo, b *strings.Builder) {
	fmt.Fprintf(b, "used_memory:%d\r\nused_memory_human:%s\r\nused_memory_rss:%d\r\nused_memory_rss_human:%s\r\n"+
		"buckets_memory:%d\r\nbuckets_memory_human:%s\r\nmaxmemory:%d\r\nmaxmemory_human:%s\r\nmaxmemory_policy:forgets-least\r\n",
		i.MemoryHeap, humanBytes(i.MemoryHeap), i.MemoryRSS, humanBytes(i.MemoryRSS),
		i.MemoryBuckets, humanBytes(i.MemoryBuckets), i.MemoryLimit, humanBytes(i.MemoryLimit))
}

func (c *Call) infoStats(i *ServerInfo, b *strings.Builder) {
	calls := uint64(0)
	for _, e := range c.d.entries {
		calls += e.stats.calls.load()
	}
	fmt.Fprintf(b, "total_connections_received:%d\r\ntotal_commands_processed:%d\r\ninstantaneous_ops_per_sec:%d\r\n"+
		"total_net_input_bytes:%d\r\ntotal_net_output_bytes:%d\r\nrejected_connections:%d\r\nexpired_keys:%d\r\nevicted_keys:%d\r\n"+
		"keyspace_hits:0\r\nkeyspace_misses:0\r\ntotal_error_replies:%d\r\n",
		i.Accepted, calls, c.d.rate.perSecond(c.Now, calls), i.BytesRead, i.BytesWritten, i.Refused, i.Swept, i.Evicted, c.d.tally.errorTotal())
}

func (c *Call) infoReplication(i *ServerInfo, b *strings.Builder) {
	fmt.Fprintf(b, "role:master\r\nconnected_slaves:0\r\nmaster_failover_state:no-failover\r\nmaster_replid:%s\r\nmaster_repl_offset:0\r\n", i.RunID)
}

func (c *Call) infoCPU(i *ServerInfo, b *strings.Builder) {
	fmt.Fprintf(b, "used_cpu_sys:%.6f\r\nused_cpu_user:%.6f\r\n", i.CPUSystem, i.CPUUser)
}

func (c *Call) infoCommands(_ *ServerInfo, b *strings.Builder) {
	for _, e := range c.d.entries {
		calls, rejected := e.stats.calls.load(), e.stats.rejected.Load()
		if calls+rejected == 0 {
			continue
		}
		usec := e.stats.times.usec(calls)
		per := 0.0
		if calls > 0 {
			per = float64(usec) / float64(calls)
		}
		fmt.Fprintf(b, "cmdstat_%s:calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d\r\n",
			e.full, calls, usec, per, rejected, e.stats.failed.Load())
	}
}

func (c *Call) infoErrors(_ *ServerInfo, b *strings.Builder) {
	for _, line := range c.d.tally.errorLines() {
		b.WriteString(line)
	}
}

func (c *Call) infoRateLimit(i *ServerInfo, b *strings.Builder) {
	sums := c.d.Decisions()
	var allowed, denied uint64
	for _, a := range limit.Algorithms() {
		allowed += sums[a].Allowed
		denied += sums[a].Denied
	}
	fmt.Fprintf(b, "decisions_allowed:%d\r\ndecisions_denied:%d\r\ndecisions_unknown:%d\r\n", allowed, denied, c.d.tally.unknown.Load())
	for _, a := range limit.Algorithms() {
		fmt.Fprintf(b, "decisions_%s:allowed=%d,denied=%d\r\n", strings.ReplaceAll(a.String(), "-", "_"), sums[a].Allowed, sums[a].Denied)
	}
	fell := &c.d.tally.fell
	fmt.Fprintf(b, "fallbacks:open=%d,closed=%d,local=%d,error=%d\r\nlost_give_backs:%d\r\n",
		fell[policy.OnErrorOpen].Load(), fell[policy.OnErrorClosed].Load(),
		fell[policy.OnErrorLocal].Load()+fell[policy.OnErrorDefault].Load(), fell[policy.OnErrorError].Load(), c.d.tally.lostGiveBacks.Load())
	fmt.Fprintf(b, "keys:%d\r\nspecs:%d\r\nbuckets_swept:%d\r\nbuckets_evicted:%d\r\nbuckets_evicted_not_full:%d\r\nconversions:%d\r\n",
		c.d.cfg.Buckets.Len(), i.Specs, i.Swept, i.Evicted, i.EvictedUsed, i.Conversions)
}

func (c *Call) infoCluster(_ *ServerInfo, b *strings.Builder) {
	fmt.Fprintf(b, "cluster_enabled:%d\r\n", bit(c.d.cfg.Sharing != nil))
}

func (c *Call) infoKeyspace(_ *ServerInfo, b *strings.Builder) {
	if n := c.d.cfg.Buckets.Len(); n > 0 {
		fmt.Fprintf(b, "db0:keys=%d,expires=%d,avg_ttl=0\r\n", n, n)
	}
}

// humanBytes is Redis' short form: 1.50M.
func humanBytes(n int64) string {
	f, units := float64(n), "BKMGT"
	for f >= 1024 && len(units) > 1 {
		f, units = f/1024, units[1:]
	}
	if units[0] == 'B' {
		return strconv.FormatInt(n, 10) + "B"
	}
	return strconv.FormatFloat(f, 'f', 2, 64) + units[:1]
}

// port is the number in host:port, 0 if there is none.
func port(addr string) int64 {
	n, err := strconv.ParseUint(addr[strings.LastIndexByte(addr, ':')+1:], 10, 16)
	if err != nil {
		return 0
	}
	return int64(n)
}
