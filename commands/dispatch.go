package commands

import (
	"errors"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/policy"
	"github.com/rlserver/rlserver/resp"
)

// Config is what a Dispatcher needs.
type Config struct {
	Buckets   Buckets
	Ownership Ownership
	Server    Server
	Users     func() *Users                // who may come in now
	Clock     func() int64                 // Unix nanoseconds; times commands
	After     func(nanos int64, do func()) // calls do, once so much time has gone by
	Bounds    limit.Bounds                 // of the rules callers may ask for
	MaxKey    int                          // bytes of a key

	// A server without policies leaves these nil, and one that is alone the
	// Cluster; commands that need them say so.
	Policies      Policies
	PolicyBuckets PolicyBuckets
	Cluster       Cluster
	Sharing       *Sharing    // nil: this node serves every slot
	Persistence   Persistence // nil: counts are kept in memory only
	// Loading says why the server cannot decide yet; nil, or nil once: it can.
	Loading func() error
	Events  Events
}

// Events reports what commands meet. Fields may be nil.
type Events struct {
	// PolicyWarning: the policy of that name is about to be set, and its
	// operator should know this.
	PolicyWarning func(name, warning string)
	// AuthFailed: somebody at addr gave a wrong password, or named a user, any
	// bytes and at most 64, who does not exist or is off.
	AuthFailed func(user, addr string)
	// Fallback: the owner of a bucket could not be asked, or its answer was lost.
	Fallback func(how policy.OnError, why error)
	// Decided: the replies to n decisions are about to leave; nanos have gone
	// by since they were read. lane is any number that spreads the callers.
	Decided func(lane, nanos int64, n int)
}

// Defaults of what an operator can set.
const (
	DefaultMaxKey   = 512        // bytes of a key
	DefaultSlow     = 10_000_000 // nanoseconds after which a command is slow
	DefaultSlowKept = 128        // slow commands that are remembered
)

// Validate reports everything that is missing or out of range.
func (c *Config) Validate() error {
	var errs []error
	if c.Buckets == nil {
		errs = append(errs, errors.New("commands: no buckets"))
	}
	if c.Ownership == nil {
		errs = append(errs, errors.New("commands: no ownership"))
	}
	if c.Server == nil {
		errs = append(errs, errors.New("commands: no server"))
	}
	if c.Users == nil {
		errs = append(errs, errors.New("commands: no users"))
	}
	if c.Clock == nil {
		errs = append(errs, errors.New("commands: no clock"))
	}
	if c.After == nil {
		errs = append(errs, errors.New("commands: no timer"))
	}
	if (c.Policies == nil) != (c.PolicyBuckets == nil) {
		errs = append(errs, errors.New("commands: policies without buckets, or buckets without policies"))
	}
	if s := c.Sharing; s != nil && (s.Remote == nil || s.Fallback == nil || s.Nodes == nil) {
		errs = append(errs, errors.New("commands: a node of several needs a way to the others, a fallback, and their number"))
	}
	if c.MaxKey < 1 {
		errs = append(errs, errors.New("commands: the longest key must be at least 1 byte"))
	}
	if c.Bounds.MaxLog < 1 {
		errs = append(errs, errors.New("commands: a sliding-log needs room for at least 1 unit"))
	}
	return errors.Join(errs...)
}

// Dispatcher runs the commands of sessions. It is a resp.Handler, and safe
// for any number of sessions at once.
type Dispatcher struct {
	cfg     Config
	table   []Command
	byName  map[string]*entry // by name and alias
	entries []*entry          // what can run, subcommands included, by name
	tally   tally
	rate    rate
	slow    slowlog
	latency latencyMonitor
	pause   pause
	counts  policyCounts
	loading loading
}

// entry is a record of the table, or of a container's subcommands, ready to
// run under one of its names.
type entry struct {
	*Command
	full  string // as in error texts: `client|list`
	group Group  // its container's, for a subcommand
	arity int
	sub   map[string]*entry
	stats commandStats
}

// Call is one run of a command. A session has one, reused from call to call.
type Call struct {
	S    *resp.Session
	W    *resp.Writer
	Args [][]byte // the name first
	Now  int64    // Unix nanoseconds

	d        *Dispatcher
	entry    *entry
	user     *User    // nil: not authenticated
	channels []string // subscribed to
	tracking tracking
	slots    []uint16    // of the keys that MULTI queued
	writes   bool        // a command that MULTI queued may change a bucket
	held     Held        // those slots, while EXEC runs; else nil
	within   PolicyKeyed // policies' buckets for who holds them; nil if nobody does
	check    *check      // what RL.CHECK works with; made by the first

	forAnother bool // another node asks: the question goes no further
}

// New returns a Dispatcher for the commands of Table.
func New(cfg Config) (*Dispatcher, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Cluster == nil {
		cfg.Cluster = alone{cfg.Server}
	}
	d := &Dispatcher{cfg: cfg, table: Table(), counts: policyCounts{seed: maphash.MakeSeed()}}
	d.byName = d.compile(d.table, nil)
	slices.SortFunc(d.entries, func(a, b *entry) int { return strings.Compare(a.full, b.full) })
	d.loading.why = cfg.Loading
	d.slow.threshold.Store(DefaultSlow)
	d.slow.keep.Store(DefaultSlowKept)
	return d, nil
}

// compile indexes records by name and alias; those of a container, or of the
// table.
func (d *Dispatcher) compile(records []Command, container *entry) map[string]*entry {
	index := make(map[string]*entry, len(records))
	for i := range records {
		c := &records[i]
		index[c.Name] = d.entry(c, c.Name, container)
		for _, alias := range c.Aliases {
			index[alias] = d.entry(c, alias, container)
		}
	}
	return index
}

// entry makes a record ready under one of its names.
func (d *Dispatcher) entry(c *Command, name string, container *entry) *entry {
	e := &entry{Command: c, full: name, group: c.Group, arity: c.arity(1)}
	if container != nil {
		e.full, e.group, e.arity = container.full+"|"+name, container.group, c.arity(2)
	}
	if len(c.Sub) > 0 {
		e.sub = d.compile(c.Sub, e)
	}
	if c.Run != nil {
		d.entries = append(d.entries, e)
	}
	return e
}

// Open gives a new session its Call, and the user it is to begin with.
func (d *Dispatcher) Open(s *resp.Session) {
	c := &Call{S: s, d: d}
	s.Context = c
	c.become(d.cfg.Users().Initial())
}

// Command runs one command: it is found, its arity and the caller's right to
// it are checked, it is queued if the session is in MULTI, else run.
func (d *Dispatcher) Command(s *resp.Session, w *resp.Writer, args [][]byte, now int64) {
	c := s.Context.(*Call)
	c.W, c.Args, c.Now = w, args, now
	e, err := d.find(args)
	if err == nil && !arityFits(e.arity, len(args)) {
		err = wrongArity(e)
	}
	if err == nil {
		err = c.allowed(e)
	}
	if err == nil {
		err = d.loads(e)
	}
	if err == nil && len(c.channels) > 0 && w.Proto() == 2 && e.Flags&FlagSubscriber == 0 {
		err = notForSubscribers(e)
	}
	if err != nil {
		c.reject(e, err)
		return
	}
	if c.paused(e) {
		s.Wait(d.postpone(args))
		return
	}
	if s.InMulti() && e.Flags&FlagNoQueue == 0 {
		if err := c.moved(e, args); err != nil {
			c.reject(e, err)
			return
		}
		c.writes = c.writes || e.Flags&FlagWrite != 0
		for _, key := range e.bucketKeys(args) {
			c.slots = append(c.slots, d.cfg.Ownership.Slot(key))
		}
		s.Queue(w, args)
		return
	}
	if s.InExec() {
		c.isolate()
	}
	c.run(e)
}

// reject answers for a command that will not run; e is nil if it is unknown. A
// transaction it should have belonged to fails, and one that it should have
// run is over.
func (c *Call) reject(e *entry, err error) {
	c.S.MarkDirty()
	if e != nil {
		e.stats.rejected.Add(1)
		if e.Name == "exec" {
			c.S.Abandon()
			err = replyError("EXECABORT Transaction discarded because of: " + strings.TrimPrefix(replyText(err), "ERR "))
		}
	}
	c.fail(err)
}

// run calls the handler and writes its error, if any.
func (c *Call) run(e *entry) {
	c.entry = e
	c.S.Ran(&e.full)
	calls := e.stats.calls.add(uint64(c.S.ID()))
	from := c.W.Len()
	var err error
	switch {
	case e.Flags&FlagFast == 0:
		// What follows sees the time after it, and nobody waits for it.
		c.S.EndBatch()
		if !e.namesBuckets() {
			c.S.EndIsolation()
		}
		err = c.timed(e)
	case calls%sampleEvery == 1:
		err = c.timed(e)
	default:
		err = e.Run(c)
	}
	if err == nil {
		return
	}
	c.W.Truncate(from)
	if slot, is := away(err); is {
		if err = c.moved(e, c.Args); err == nil {
			c.forward(e, slot)
			return
		}
	}
	e.stats.failed.Add(1)
	c.fail(err)
}

func (c *Call) fail(err error) {
	var over overBound
	if errors.As(err, &over) {
		c.d.tally.over[over.bound].Add(1)
	}
	text := replyText(err)
	c.d.tally.countError(text)
	c.W.Error(text)
}

// find returns the record of a command, in a container that of the
// subcommand. A record may come with an error: the container of an unknown
// subcommand.
func (d *Dispatcher) find(args [][]byte) (*entry, error) {
	e := lookup(d.byName, args[0])
	if e == nil {
		return nil, unknownCommand(args)
	}
	if e.sub == nil || len(args) < 2 {
		return e, nil
	}
	if sub := lookup(e.sub, args[1]); sub != nil {
		return sub, nil
	}
	if e.Run != nil {
		return e, nil
	}
	return e, unknownSubcommand(e, args[1])
}

// lookup finds a name typed in any case, without allocating.
func lookup(index map[string]*entry, name []byte) *entry {
	var lower [32]byte
	if len(name) > len(lower) {
		return nil
	}
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	return index[string(lower[:len(name)])]
}

// unknownCommand is Redis' text: the name as typed, then the beginning of the
// arguments, 128 bytes in all.
func unknownCommand(args [][]byte) error {
	const most = 128
	var rest strings.Builder
	for _, arg := range args[1:] {
		if rest.Len() >= most {
			break
		}
		rest.WriteString("'" + clean(arg, most-rest.Len()) + "' ")
	}
	return replyError("ERR unknown command '" + clean(args[0], most) + "', with args beginning with: " + rest.String())
}

// clean makes a client's bytes fit for an error line as Redis does: cut to
// most bytes and at the first NUL.
func clean(b []byte, most int) string {
	if len(b) > most {
		b = b[:most]
	}
	for i, c := range b {
		if c == 0 {
			b = b[:i]
			break
		}
	}
	return string(b)
}

// Replace answers for a decision that no longer holds: it may have been
// charged where nobody counts any more, so its outcome is unknown.
func (d *Dispatcher) Replace(_ *resp.Session, w *resp.Writer, _ [][]byte, _ int64) {
	d.tally.unknown.Add(1)
	w.Error(errOutcomeUnknown)
}

func arityFits(arity, words int) bool {
	if arity < 0 {
		return words >= -arity
	}
	return words == arity
}

// reader reads the arguments behind the name, and behind a subcommand's.
func (c *Call) reader() reader {
	return reader{args: c.Args, next: 1, maxKey: c.d.cfg.MaxKey}
}
