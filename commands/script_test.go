package commands_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/rlserver/rlserver/commands"
	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/resp"
	"github.com/rlserver/rlserver/state"
)

// start is the time at which every script begins: the start of a day, so that
// windows are easy to follow.
const start = int64(20_000) * 24 * 3600 * 1_000_000_000

// world is a server without sockets, whose clock only moves when told.
type world struct {
	now     int64
	clock   atomic.Int64 // moves by took each time it is read
	took    int64        // how long commands take that are timed
	store   *state.Store
	owner   *owner
	server  *fakeServer
	rules   *fakePolicies
	cluster *fakeCluster
	users   *commands.Users
	handler *commands.Dispatcher
	limits  resp.Limits
	session *resp.Session
	timers  []timer
}

// timer is what Config.After was told.
type timer struct {
	at int64
	do func()
}

// advance moves the clock, and calls what is due.
func (w *world) advance(nanos int64) {
	w.now += nanos
	due := w.timers
	w.timers = nil
	for _, t := range due {
		if t.at <= w.now {
			t.do()
		} else {
			w.timers = append(w.timers, t)
		}
	}
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	w := &world{
		now: start, owner: &owner{}, server: &fakeServer{}, users: commands.OpenUsers(), limits: resp.DefaultLimits(),
		rules: newFakePolicies(), cluster: newFakeCluster(),
	}
	seed := rand.New(rand.NewPCG(1, 2))
	var err error
	w.store, err = state.New(state.Config{
		MaxMemory: 64 << 20,
		SweepIdle: time.Minute,
		Hash: func(key []byte) uint64 {
			h := fnv.New64a()
			_, _ = h.Write(key)
			return h.Sum64()
		},
		Rand: seed.Uint64,
	})
	if err != nil {
		tb.Fatal(err)
	}
	w.serve(tb, w.config())
	return w
}

func (w *world) config() commands.Config {
	return commands.Config{
		Buckets:       buckets{w.store},
		Ownership:     w.owner,
		Server:        w.server,
		Users:         func() *commands.Users { return w.users },
		Clock:         func() int64 { return w.clock.Add(w.took) },
		After:         func(nanos int64, do func()) { w.timers = append(w.timers, timer{w.now + nanos, do}) },
		Bounds:        limit.DefaultBounds(),
		MaxKey:        commands.DefaultMaxKey,
		Policies:      w.rules,
		PolicyBuckets: newFakeBuckets(),
		Cluster:       w.cluster,
		Events:        commands.Events{PolicyWarning: w.rules.warned},
	}
}

// serve makes a dispatcher and a session of it.
func (w *world) serve(tb testing.TB, cfg commands.Config) {
	tb.Helper()
	var err error
	if w.handler, err = commands.New(cfg); err != nil {
		tb.Fatal(err)
	}
	w.session = w.connect(1)
}

func (w *world) connect(id int64) *resp.Session {
	return resp.NewSession(resp.ClientInfo{ID: id, RemoteAddr: "192.0.2.1:" + strconv.FormatInt(1000+id, 10), CreatedAt: w.now},
		w.handler, &w.limits, &resp.Events{Panic: func(value any, stack []byte) {
			panic(fmt.Sprintf("%v\n%s", value, stack))
		}})
}

// send gives bytes to the session and returns what it answers.
func (w *world) send(in []byte) (out []byte, status resp.Status) {
	return exchange(w.session, in, w.now)
}

// exchange also starts what the session waits for; it returns StatusWait if that
// does not wake at once.
func exchange(s *resp.Session, in []byte, now int64) (out []byte, status resp.Status) {
	for {
		n := copy(s.Buffer(), in)
		s.Received(n)
		in = in[n:]
		for {
			status = s.Process(now)
			out = append(out, s.Output()...)
			s.Sent(len(s.Output()))
			woken := false
			if status == resp.StatusWait {
				s.Start(func() { woken = true })
			}
			if status != resp.StatusFlush && !woken {
				break
			}
		}
		if len(in) == 0 || status == resp.StatusClose || status == resp.StatusWait {
			return out, status
		}
	}
}

// buckets shows a store in the commands' words.
type buckets struct{ *state.Store }

func (b buckets) Inspect(key []byte, now int64) (commands.BucketInfo, bool) {
	return bucketInfo(b.Store.Inspect(key, now))
}

func (b buckets) Hold(slots []uint16) commands.Held { return held{b.Store.Hold(slots), slots} }

type held struct {
	*state.Held
	slots []uint16
}

func (h held) Inspect(key []byte, now int64) (commands.BucketInfo, bool) {
	return bucketInfo(h.Held.Inspect(key, now))
}

func bucketInfo(i state.Info, found bool) (commands.BucketInfo, bool) {
	return commands.BucketInfo{Spec: i.Spec, Remaining: i.Remaining, ResetMS: i.ResetMS, IdleMS: i.IdleMS, Bytes: i.Bytes}, found
}

func (b buckets) TopAsked(n int, now int64) []commands.TopKey {
	return top(b.Top(state.TopAsked, n, now))
}

func (b buckets) TopDenied(n int, now int64) []commands.TopKey {
	return top(b.Top(state.TopDenied, n, now))
}

func top(keys []state.TopKey) (all []commands.TopKey) {
	for _, k := range keys {
		all = append(all, commands.TopKey(k))
	}
	return all
}

// owner owns every slot but those that were taken from it.
type owner struct {
	foreign map[uint16]bool // not served
	lost    map[uint16]bool // served, but gone when it is checked
	panics  bool            // Owner does
	pause   func()          // called by Serve, if not nil
}

func (*owner) Slot(key []byte) uint16 { return state.Slot(key) }
func (o *owner) Serve(slot uint16) (uint64, bool) {
	if o.pause != nil {
		o.pause()
	}
	return 7, !o.foreign[slot]
}

func (*owner) MayAnswer() bool { return true }

func (o *owner) Holds(slot uint16, version uint64) bool { return version == 7 && !o.lost[slot] }
func (o *owner) Owner(uint16) string {
	if o.panics {
		panic("a failing handler")
	}
	return "node-1"
}

type fakeServer struct {
	clients []resp.ClientInfo
	stopped bool
	during  func() // called by Settings, if not nil
}

func (*fakeServer) Describe() commands.ServerInfo {
	return commands.ServerInfo{
		Version: "0.0.0-test", Node: "node-1", RunID: strings.Repeat("ab", 20), Addr: "127.0.0.1:7379",
		OS: "test", PID: 1, StartedAt: start, Clients: 1, MaxClients: 10,
	}
}

func (f *fakeServer) Clients() []resp.ClientInfo { return append([]resp.ClientInfo(nil), f.clients...) }

func (f *fakeServer) Kill(match func(resp.ClientInfo) bool) (n int) {
	var left []resp.ClientInfo
	for _, c := range f.clients {
		if match(c) {
			n++
		} else {
			left = append(left, c)
		}
	}
	f.clients = left
	return n
}

func (f *fakeServer) Settings() []commands.Setting {
	if f.during != nil {
		f.during()
	}
	return []commands.Setting{{Name: "databases", Value: "1"}, {Name: "maxclients", Value: "10"}, {Name: "max-memory", Value: "64mb"}}
}

func (*fakeServer) Set(name, value string) (bool, error) {
	if name != "max-memory" {
		return false, nil
	}
	if value == "0" {
		return true, errors.New("must be at least 1048576 bytes")
	}
	return true, nil
}

func (f *fakeServer) Shutdown() { f.stopped = true }

// TestScripts runs testdata: a line is a command, in redis-cli's quoting, and
// each answer is a line. Lines that begin with @ steer: @advance 100ms moves the
// clock, @took 20ms says how long commands take, @password PW ADMINPW, @acl LINE
// and @open say who may come in, @connect makes a new connection, @foreign key
// takes the key's slot away, @lose key does so after the next decision, @own
// gives all back, @writes refused|unwritten|unknown|made says what comes of
// writes to the cluster, @counts shows what was counted by policy, and @warnings
// what operators were told.
func TestScripts(t *testing.T) { runScripts(t, "testdata/scripts") }

func runScripts(t *testing.T, dir string) {
	t.Helper()
	datadriven.Walk(t, dir, func(t *testing.T, path string) {
		w := newWorld(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				line = strings.TrimSpace(line)
				switch line {
				case "@counts":
					for _, n := range append(w.handler.PolicyCounts(), w.handler.PolicyTotals()) {
						fmt.Fprintf(&out, "%q: %d asked, %d denied; as a shadow %d, %d\n", n.Name, n.Decisions, n.Denied, n.Shadowed, n.ShadowDenied)
					}
					continue
				case "@warnings":
					out.WriteString(strings.Join(w.rules.warnings, "\n") + "\n")
					continue
				}
				if verb, found := strings.CutPrefix(line, "@"); found {
					w.steer(t, strings.Fields(verb))
					continue
				}
				reply, status := w.send([]byte(line + "\r\n"))
				out.WriteString(show(t, reply))
				if status == resp.StatusClose {
					out.WriteString("(closed)\n")
					w.session = w.connect(w.session.ID() + 1)
				}
			}
			return out.String()
		})
	})
}

func (w *world) steer(t *testing.T, words []string) {
	t.Helper()
	slotOf := func(key string) map[uint16]bool { return map[uint16]bool{state.Slot([]byte(key)): true} }
	switch words[0] {
	case "advance":
		w.advance(duration(t, words[1]))
	case "took":
		w.took = duration(t, words[1])
	case "acl":
		users, err := commands.ParseACL(strings.NewReader(strings.Join(words[1:], " ")))
		if err != nil {
			t.Fatal(err)
		}
		w.users = users
		w.session = w.connect(w.session.ID() + 1)
	case "password":
		w.users = commands.PasswordUsers(words[1], words[2])
		w.session = w.connect(w.session.ID() + 1)
	case "open":
		w.users = commands.OpenUsers()
		w.session = w.connect(w.session.ID() + 1)
	case "connect":
		w.session = w.connect(w.session.ID() + 1)
	case "foreign":
		w.owner.foreign = slotOf(words[1])
	case "lose":
		w.owner.lost = slotOf(words[1])
	case "own":
		w.owner.foreign, w.owner.lost = nil, nil
	case "writes":
		w.cluster.err = writeFailure(words[1])
		w.rules.err = w.cluster.err
	default:
		t.Fatalf("unknown verb %q", words)
	}
}

func duration(t *testing.T, text string) int64 {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return int64(d)
}

// show prints replies, one a line, nested ones in brackets.
func show(tb testing.TB, replies []byte) string {
	tb.Helper()
	var out strings.Builder
	for len(replies) > 0 {
		text, rest, err := showOne(replies)
		if err != nil {
			tb.Fatalf("%v in %q", err, replies)
		}
		out.WriteString(text + "\n")
		replies = rest
	}
	return out.String()
}

var errShort = errors.New("a reply is cut short")

func showOne(b []byte) (text string, rest []byte, err error) {
	line, rest, found := bytes.Cut(b, []byte("\r\n"))
	if !found || len(line) == 0 {
		return "", nil, errShort
	}
	kind, body := line[0], string(line[1:])
	switch kind {
	case '+':
		return body, rest, nil
	case '-':
		return "(error) " + body, rest, nil
	case ',':
		_, err := strconv.ParseFloat(body, 64)
		return "," + body, rest, err
	case ':':
		_, err := strconv.ParseInt(body, 10, 64)
		return body, rest, err
	case '_':
		return "(null)", rest, nil
	}
	n, err := strconv.Atoi(body)
	if err != nil {
		return "", nil, err
	}
	switch kind {
	case '$', '=':
		if n == -1 {
			return "(nil)", rest, nil
		}
		if len(rest) < n+2 || string(rest[n:n+2]) != "\r\n" {
			return "", nil, errShort
		}
		quoted := strconv.QuoteToASCII(string(rest[:n]))
		if kind == '=' {
			quoted = "=" + quoted
		}
		return quoted, rest[n+2:], nil
	case '*', '~', '>', '%':
		if n == -1 {
			return "(nil array)", rest, nil
		}
		if kind == '%' {
			n *= 2
		}
		var parts []string
		for range n {
			var part string
			if part, rest, err = showOne(rest); err != nil {
				return "", nil, err
			}
			parts = append(parts, part)
		}
		mark := map[byte]string{'*': "", '~': "~", '>': ">", '%': "%"}[kind]
		return mark + "[" + strings.Join(parts, " ") + "]", rest, nil
	}
	return "", nil, fmt.Errorf("unknown kind %q", kind)
}
