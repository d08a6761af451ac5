package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/rlserver/rlserver/commands"
	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/resp"
	"github.com/rlserver/rlserver/resp/server"
	"github.com/rlserver/rlserver/snapshot"
)

// config is everything an operator can set. Each field is a flag, an
// environment variable (RLSERVER_ and the name in capitals) and a line
// `name value` of the file that --config names; the flag wins over the
// environment, the environment over the file. Once the server runs, node.mu
// guards the fields of the tunables.
type config struct {
	addr      string
	tlsAddr   string
	adminAddr string
	adminTLS  bool
	adminHost string
	nodeName  string

	password          secretValue
	passwordFile      string
	adminPassword     secretValue
	adminPasswordFile string
	aclFile           string

	tlsCert          string
	tlsKey           string
	tlsCA            string
	handshakeTimeout time.Duration

	cluster clusterConfig

	sync        snapshot.SyncPolicy
	diskReserve bytesValue

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
	logLevel  slog.LevelVar

	version bool

	set          *flag.FlagSet // the flags these values belong to
	typedSecrets []string      // the flags of secrets that the command line shows
	roster       roster        // who may come in at the start
	certs        *certificates // nil without TLS
}

// flags declares every setting, with the default a bare `rlserver` runs with.
func (c *config) flags() *flag.FlagSet {
	limits, sockets := resp.DefaultLimits(), server.DefaultConfig()
	c.maxMemory = 1 << 30
	c.diskReserve = snapshot.DefaultReserve
	c.maxBulk = bytesValue(limits.MaxBulk)
	c.maxQuery = bytesValue(limits.MaxQuery)
	c.maxOutput = bytesValue(limits.MaxOutput)
	c.maxClients = sockets.MaxClients
	c.maxClientsPerAddr = sockets.MaxClientsPerAddr
	c.handshakeTimeout = sockets.HandshakeTimeout
	c.idleTimeout = sockets.IdleTimeout
	c.commandTimeout = sockets.CommandTimeout
	c.writeTimeout = sockets.WriteTimeout
	c.drainTimeout = 10 * time.Second
	c.sweepIdle = time.Minute

	fs := flag.NewFlagSet("rlserver", flag.ContinueOnError)
	fs.StringVar(&c.addr, "addr", "127.0.0.1:7379", "`address` on which Redis clients are served; empty: none but that of --tls-addr")
	fs.StringVar(&c.tlsAddr, "tls-addr", "", "`address` on which Redis clients are served over TLS; empty: none")
	fs.StringVar(&c.adminAddr, "admin-addr", "127.0.0.1:8379", "`address` of the HTTP server with health, metrics and the status page; empty: none")
	fs.BoolVar(&c.adminTLS, "admin-tls", false, "serve HTTP over TLS, with the same certificates as --tls-addr")
	fs.StringVar(&c.adminHost, "admin-host", "", "further `names`, with commas between, by which the HTTP server may be called")
	fs.StringVar(&c.nodeName, "node-name", "", "`name` of this node in replies and logs (default: the host's name)")

	fs.Var(&c.password, "password", "`password` of the user default, who may decide and read; better a file: the command line can be read by everybody on the machine")
	fs.StringVar(&c.passwordFile, "password-file", "", "`file` whose first line is the password of the user default")
	fs.Var(&c.adminPassword, "admin-password", "`password` of the user admin, who may do everything; better a file")
	fs.StringVar(&c.adminPasswordFile, "admin-password-file", "", "`file` whose first line is the password of the user admin")
	fs.StringVar(&c.aclFile, "acl-file", "", "`file` of users, their passwords, categories and key patterns, instead of passwords")

	fs.StringVar(&c.tlsCert, "tls-cert", "", "`file` with the server's certificate and those between it and its authority, in PEM form")
	fs.StringVar(&c.tlsKey, "tls-key", "", "`file` with the key of the certificate, in PEM form")
	fs.StringVar(&c.tlsCA, "tls-ca", "", "`file` with the authorities, in PEM form, one of which must have signed each client's certificate; empty: clients need none")
	fs.Var((*durationValue)(&c.handshakeTimeout), "handshake-timeout", "`time` in which a client must complete the TLS handshake")

	c.cluster.flags(fs)

	fs.Var((*syncValue)(&c.sync), "sync", "`when` changed buckets reach the disk: 1s, at most a second after the decision; always, before the reply leaves; off, when the system likes")
	fs.Var(&c.diskReserve, "disk-reserve", "`bytes` of the disk that are left to others, the log of policies among them: with less buckets are no longer written")

	fs.Var(&c.maxMemory, "max-memory", "most `bytes` of bucket state, logs included: 64mb, 1gb, ...; when it is full the buckets that forget least make room")
	fs.Var((*durationValue)(&c.sweepIdle), "sweep-idle", "a bucket that is full and has been idle for this `time` is dropped")
	fs.IntVar(&c.maxKey, "max-key", commands.DefaultMaxKey, "longest key in `bytes`")
	fs.Int64Var(&c.maxLog, "max-log", limit.DefaultBounds().MaxLog, "largest limit, in `units`, that a sliding-log may have")

	fs.Var((*countValue)(&c.maxClients), "max-clients", "most `connections` at once")
	fs.Var((*countValue)(&c.maxClientsPerAddr), "max-clients-per-addr", "most `connections` of one address that have not authenticated; 0: no bound")
	fs.Var((*durationValue)(&c.idleTimeout), "idle-timeout", "a connection that asks nothing for this `time` is closed; 0: never")
	fs.Var((*durationValue)(&c.commandTimeout), "command-timeout", "`time` in which a command that has begun to arrive must be complete")
	fs.Var((*durationValue)(&c.writeTimeout), "write-timeout", "`time` in which a client must take its replies")
	fs.Var((*durationValue)(&c.drainTimeout), "drain-timeout", "`time` that clients have to finish on SIGTERM")
	fs.IntVar(&c.maxArgs, "max-args", limits.MaxArgs, "most `arguments` of a command")
	fs.Var(&c.maxBulk, "max-bulk", "longest argument in `bytes`")
	fs.Var(&c.maxQuery, "max-query", "most `bytes` of a command that is not complete")
	fs.Var(&c.maxOutput, "max-output", "`bytes` of replies after which they are sent before more is read")
	fs.IntVar(&c.maxBatch, "max-batch", limits.MaxBatch, "most `commands` answered in one write")

	fs.StringVar(&c.logFormat, "log-format", "text", "`format` of the log: text or json")
	fs.Var(levelValue{&c.logLevel}, "log-level", "least `level` that is logged: debug, info, warn, error")

	fs.String("config", "", "`file` of lines `name value`, named as these flags")
	fs.BoolVar(&c.version, "version", false, "print the version and exit")
	return fs
}

// parseConfig reads flags, environment and file. Everything that is wrong is
// reported at once.
func parseConfig(args []string, getenv func(string) string, help io.Writer) (*config, error) {
	var c config
	fs := c.flags()
	c.set = fs
	fs.SetOutput(io.Discard)
	typed, err := readSettings(fs, args, getenv)
	switch {
	case errors.Is(err, flag.ErrHelp):
		usage(help, fs)
		return nil, err
	case c.version:
		return &c, nil
	}
	for _, name := range []string{"password", "admin-password"} {
		if typed[name] {
			c.typedSecrets = append(c.typedSecrets, "--"+name)
		}
	}
	if c.nodeName == "" {
		var unnamed error
		c.nodeName, unnamed = os.Hostname()
		if unnamed != nil {
			err = errors.Join(err, fmt.Errorf("no host name (set --node-name): %w", unnamed))
		}
	}
	if err := errors.Join(err, c.validate()); err != nil {
		return nil, fmt.Errorf("%w\nrlserver --help lists what can be set", err)
	}
	return &c, nil
}

// sockets is what connections are bound by; it lacks the handler and events.
func (c *config) sockets(now func() int64) server.Config {
	sc := server.DefaultConfig()
	sc.Now = now
	sc.Deadline = func(from time.Duration) time.Time { return time.Now().Add(from) }
	sc.Limits.MaxArgs = c.maxArgs
	sc.Limits.MaxBulk = int(c.maxBulk)
	sc.Limits.MaxQuery = int(c.maxQuery)
	sc.Limits.MaxOutput = int(c.maxOutput)
	sc.Limits.MaxBatch = c.maxBatch
	sc.Tuning = c.tuning()
	sc.HandshakeTimeout = c.handshakeTimeout
	return sc
}

// usage is --help: every setting with its default.
func usage(w io.Writer, fs *flag.FlagSet) {
	fmt.Fprintf(w, "%s: a rate limiter that speaks Redis' protocol\n\nUsage: rlserver [flags]\n\n", filepath.Base(fs.Name()))
	fs.SetOutput(w)
	fs.PrintDefaults()
	fmt.Fprint(w, "\nEach flag is also an environment variable (--max-memory is RLSERVER_MAX_MEMORY)\nand a line of the --config file (max-memory 64mb).\n")
}
