package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/peterbourgon/ff/v3"

	"github.com/rlserver/rlserver/commands"
	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/resp"
	"github.com/rlserver/rlserver/resp/server"
)

// config is everything an operator can set. Each field is a flag, an
// environment variable (RLSERVER_ and the name in capitals) and a line
// `name value` of the file that --config names; the flag wins over the
// environment, the environment over the file.
type config struct {
	addr      string
	adminAddr string
	adminHost string
	nodeName  string

	maxMemory bytesValue
	sweepIdle time.Duration
	maxKey    int
	maxLog    int64

	maxClients        int
	maxClientsPerAddr int
	idleTimeout       time.Duration
	commandTimeout    time.Duration
	writeTimeout      time.Duration
	drainTimeout      time.Duration
	maxArgs           int
	maxBulk           bytesValue
	maxQuery          bytesValue
	maxOutput         bytesValue
	maxBatch          int

	logFormat string
	logLevel  slog.Level

	version bool

	set *flag.FlagSet // the flags these values belong to
}

// flags declares every setting, with the default a bare `rlserver` runs with.
func (c *config) flags() *flag.FlagSet {
	limits, sockets := resp.DefaultLimits(), server.DefaultConfig()
	c.maxMemory = 1 << 30
	c.maxBulk = bytesValue(limits.MaxBulk)
	c.maxQuery = bytesValue(limits.MaxQuery)
	c.maxOutput = bytesValue(limits.MaxOutput)

	fs := flag.NewFlagSet("rlserver", flag.ContinueOnError)
	fs.StringVar(&c.addr, "addr", "127.0.0.1:7379", "`address` on which Redis clients are served")
	fs.StringVar(&c.adminAddr, "admin-addr", "127.0.0.1:8379", "`address` of the HTTP server with health, metrics and the status page; empty: none")
	fs.StringVar(&c.adminHost, "admin-host", "", "further `names`, with commas between, by which the HTTP server may be called")
	fs.StringVar(&c.nodeName, "node-name", "", "`name` of this node in replies and logs (default: the host's name)")

	fs.Var(&c.maxMemory, "max-memory", "most `bytes` of bucket state, logs included: 64mb, 1gb, ...; when it is full the buckets that forget least make room")
	fs.DurationVar(&c.sweepIdle, "sweep-idle", time.Minute, "a bucket that is full and has been idle for this `time` is dropped")
	fs.IntVar(&c.maxKey, "max-key", commands.DefaultMaxKey, "longest key in `bytes`")
	fs.Int64Var(&c.maxLog, "max-log", limit.DefaultBounds().MaxLog, "largest limit, in `units`, that a sliding-log may have")

	fs.IntVar(&c.maxClients, "max-clients", sockets.MaxClients, "most `connections` at once")
	fs.IntVar(&c.maxClientsPerAddr, "max-clients-per-addr", sockets.MaxClientsPerAddr, "most `connections` of one address that have not authenticated; 0: no bound")
	fs.DurationVar(&c.idleTimeout, "idle-timeout", sockets.IdleTimeout, "a connection that asks nothing for this `time` is closed; 0: never")
	fs.DurationVar(&c.commandTimeout, "command-timeout", sockets.CommandTimeout, "`time` in which a command that has begun to arrive must be complete")
	fs.DurationVar(&c.writeTimeout, "write-timeout", sockets.WriteTimeout, "`time` in which a client must take its replies")
	fs.DurationVar(&c.drainTimeout, "drain-timeout", 10*time.Second, "`time` that clients have to finish on SIGTERM")
	fs.IntVar(&c.maxArgs, "max-args", limits.MaxArgs, "most `arguments` of a command")
	fs.Var(&c.maxBulk, "max-bulk", "longest argument in `bytes`")
	fs.Var(&c.maxQuery, "max-query", "most `bytes` of a command that is not complete")
	fs.Var(&c.maxOutput, "max-output", "`bytes` of replies after which they are sent before more is read")
	fs.IntVar(&c.maxBatch, "max-batch", limits.MaxBatch, "most `commands` answered in one write")

	fs.StringVar(&c.logFormat, "log-format", "text", "`format` of the log: text or json")
	fs.TextVar(&c.logLevel, "log-level", slog.LevelInfo, "least `level` that is logged: debug, info, warn, error")

	fs.String("config", "", "`file` of lines `name value`, named as these flags")
	fs.BoolVar(&c.version, "version", false, "print the version and exit")
	return fs
}

// visit calls f for every setting that may be shown, in the order of names.
func (c *config) visit(f func(*flag.Flag)) {
	c.set.VisitAll(func(setting *flag.Flag) {
		if setting.Name != "version" && setting.Name != "config" {
			f(setting)
		}
	})
}

// minMemory is the least that --max-memory may be.
const minMemory bytesValue = 1 << 20

// parseConfig reads flags, environment and file. Everything that is wrong is
// reported at once.
func parseConfig(args []string, help io.Writer) (*config, error) {
	var c config
	fs := c.flags()
	c.set = fs
	fs.SetOutput(io.Discard)
	err := ff.Parse(fs, args,
		ff.WithEnvVarPrefix("RLSERVER"),
		ff.WithConfigFileFlag("config"),
		ff.WithConfigFileParser(ff.PlainParser),
	)
	if errors.Is(err, flag.ErrHelp) {
		usage(help, fs)
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w; rlserver --help lists what can be set", err)
	}
	if c.nodeName == "" {
		c.nodeName, err = os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("no host name (set --node-name): %w", err)
		}
	}
	return &c, c.validate(fs.Args())
}

func (c *config) validate(rest []string) error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if len(rest) > 0 {
		bad("unexpected argument %q; rlserver --help lists what can be set", rest[0])
	}
	host, _, err := net.SplitHostPort(c.addr)
	if err != nil {
		bad("--addr %q is no host:port", c.addr)
	} else if !loopback(host) {
		bad("--addr %s would be open to the network, and this server asks for no password: use 127.0.0.1, ::1 or localhost", c.addr)
	}
	if host, _, err := net.SplitHostPort(c.adminAddr); c.adminAddr != "" {
		if err != nil {
			bad("--admin-addr %q is no host:port", c.adminAddr)
		} else if !loopback(host) {
			bad("--admin-addr %s would be open to the network, and this server asks for no password: use 127.0.0.1, ::1 or localhost", c.adminAddr)
		}
	}
	if c.maxMemory < minMemory {
		bad("--max-memory must be at least 1mb, got %s", c.maxMemory.String())
	}
	if c.sweepIdle < 0 {
		bad("--sweep-idle must not be negative, got %s", c.sweepIdle)
	}
	if c.maxKey < 1 || c.maxKey > 64<<10 {
		bad("--max-key must be 1 to 65536 bytes, got %d", c.maxKey)
	}
	if c.maxLog < 1 || c.maxLog > 100_000_000 {
		bad("--max-log must be 1 to 100000000 units, got %d", c.maxLog)
	}
	if c.drainTimeout < 0 {
		bad("--drain-timeout must not be negative, got %s", c.drainTimeout)
	}
	if c.logFormat != "text" && c.logFormat != "json" {
		bad("--log-format must be text or json, got %q", c.logFormat)
	}
	return errors.Join(errs...)
}

// loopback says whether host can only be reached from this machine.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// limits are the bounds of a session.
func (c *config) limits() resp.Limits {
	l := resp.DefaultLimits()
	l.MaxArgs = c.maxArgs
	l.MaxBulk = int(c.maxBulk)
	l.MaxQuery = int(c.maxQuery)
	l.MaxOutput = int(c.maxOutput)
	l.MaxBatch = c.maxBatch
	return l
}

// usage is --help: every setting with its default.
func usage(w io.Writer, fs *flag.FlagSet) {
	fmt.Fprintf(w, "%s: a rate limiter that speaks Redis' protocol\n\nUsage: rlserver [flags]\n\n", filepath.Base(fs.Name()))
	fs.SetOutput(w)
	fs.PrintDefaults()
	fmt.Fprint(w, "\nEach flag is also an environment variable (--max-memory is RLSERVER_MAX_MEMORY)\nand a line of the --config file (max-memory 64mb).\n")
}

// bytesValue is a flag of bytes, written as Redis does: 100, 64kb, 1mb, 2gb.
type bytesValue int64

func (b *bytesValue) String() string {
	for _, u := range byteUnits() {
		if n := int64(*b); n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*b), 10)
}

func (b *bytesValue) Set(text string) error {
	digits, unit := strings.ToLower(text), int64(1)
	for _, u := range byteUnits() {
		if rest, found := strings.CutSuffix(digits, u.name); found {
			digits, unit = rest, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/unit {
		return fmt.Errorf("want a number of bytes such as 1048576, 64kb, 1mb or 2gb")
	}
	*b = bytesValue(n * unit)
	return nil
}

type byteUnit struct {
	name  string
	bytes int64
}

func byteUnits() []byteUnit {
	return []byteUnit{{"gb", 1 << 30}, {"mb", 1 << 20}, {"kb", 1 << 10}}
}
