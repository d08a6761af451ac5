package admin

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/rlserver/rlserver/limit"
)

//go:embed web
var web embed.FS

// The lists of the page have topShown keys, of topAsked that are looked
// through for such as the visitor may see.
const (
	topShown = 10
	topAsked = 100
)

// page is the status page for people.
type page struct {
	server   *Server
	template *template.Template
}

func newPage(s *Server) (*page, error) {
	t, err := template.ParseFS(web, "web/*.html")
	return &page{s, t}, err
}

// whole is the page; live is the part of it that changes, for page.js.
func (p *page) whole(w http.ResponseWriter, r *http.Request) { p.render(w, r, "page.html") }
func (p *page) live(w http.ResponseWriter, r *http.Request)  { p.render(w, r, "live.html") }

func (p *page) render(w http.ResponseWriter, r *http.Request, name string) {
	visitor, _ := r.Context().Value(visitorKey{}).(Visitor)
	var out bytes.Buffer
	if err := p.template.ExecuteTemplate(&out, name, p.server.view(visitor.Sees)); err != nil {
		p.server.cfg.Log.Error("the status page cannot be shown", "err", err)
		say(w, http.StatusInternalServerError, "the page cannot be shown; the log says why")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = out.WriteTo(w) // the client may have gone
}

// file serves an embedded file.
func (*page) file(name, contentType string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		content, err := web.ReadFile("web/" + name)
		if err != nil {
			say(w, http.StatusNotFound, "no such file")
			return
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(content) // the client may have gone
	}
}

// view is the page in words: the template decides nothing but where they go.
type view struct {
	Node, Version, Addr string
	NotReady            string // why; "": it is ready
	Uptime, Mode        string

	PerSecond, DeniedPerSecond, DeniedPercent string
	LastMinute                                string // decisions
	Slow                                      string // what 99 of 100 decisions of the last minute took
	Chart                                     chart

	Keys, Specs, Slots, SlotsOwned string
	Memory, MemoryLimit, RSS, Heap string
	MemoryPercent                  string
	Clients, MaxClients, Accepted  string

	Algorithms []algorithmRow
	Denied     []keyRow
	Asked      []keyRow
	Policies   *policyList   // nil: they are not served
	Cluster    *clusterTable // nil: the node is alone
	Notices    []notice
}

type algorithmRow struct{ Name, Allowed, Denied, DeniedPercent string }

// keyRow is a line of a list of keys.
type keyRow struct {
	Key, Count string
	Bytes      string // its length, where the text does not show it
	Long       bool   // it may have to be scrolled
	Share      int    // 1 to 100, of the highest count
}

// notice is a number that should be 0, and is not.
type notice struct{ Count, Text string }

// view reads everything once. sees says which keys may be shown; nil: all.
func (s *Server) view(sees func(key string) bool) *view {
	snapshot, now := s.cfg.Node.Snapshot(), s.cfg.Now()
	l := s.history.lately(sampleOf(&snapshot, now))
	v := &view{
		Node: snapshot.Node, Version: snapshot.Version, Addr: snapshot.Addr,
		Uptime: span(time.Duration(now - snapshot.StartedAt)), Mode: snapshot.Cluster.Mode,
		PerSecond: rate(l.perSecond), DeniedPerSecond: rate(l.deniedPerSecond),
		DeniedPercent: percent(l.deniedShare), LastMinute: grouped(l.decisions),
		Slow: slow(&l.latency), Chart: newChart(l.seconds),
		Keys: grouped(snapshot.Keys), Specs: grouped(snapshot.Specs),
		Slots: grouped(snapshot.Slots), SlotsOwned: grouped(snapshot.SlotsOwned),
		Memory: size(snapshot.MemoryBuckets), MemoryLimit: size(snapshot.MemoryLimit),
		MemoryPercent: percent(float64(snapshot.MemoryBuckets) / float64(max(snapshot.MemoryLimit, 1))),
		RSS:           size(snapshot.MemoryRSS), Heap: size(snapshot.MemoryHeap),
		Clients: grouped(snapshot.Clients), MaxClients: grouped(snapshot.MaxClients), Accepted: grouped(snapshot.Accepted),
		Algorithms: algorithmRows(&snapshot),
		Denied:     keyRows(s.cfg.Node.TopDenied(topAsked), sees),
		Asked:      keyRows(s.cfg.Node.TopAsked(topAsked), sees),
		Notices:    notices(&snapshot),
		Cluster:    newClusterTable(&snapshot.Cluster),
	}
	if s.cfg.Policies != nil {
		v.Policies = newPolicyList(s.cfg.Policies.View(), s.cfg.Node.PolicyCounts())
	}
	if err := s.cfg.Node.Ready(); err != nil {
		v.NotReady = err.Error()
	}
	return v
}

// slow says how long all but one in a hundred decisions took at most.
func slow(h *Histogram) string {
	const permille = 990
	bound, ok := h.atMost(permille)
	switch {
	case ok:
		return boundText(bound)
	case h.count() > 0:
		return "> 1 s"
	}
	return "–"
}

func algorithmRows(s *Snapshot) (rows []algorithmRow) {
	for _, a := range limit.Algorithms() {
		o := s.Decisions[a]
		if total := o.Allowed + o.Denied; total > 0 {
			rows = append(rows, algorithmRow{
				a.String(), grouped(o.Allowed), grouped(o.Denied), percent(float64(o.Denied) / float64(total)),
			})
		}
	}
	return rows
}

// plainKey is the length, in bytes, up to which a key is surely seen whole.
const plainKey = 64

func keyRows(keys []TopKey, sees func(key string) bool) []keyRow {
	if sees != nil {
		keys = slices.DeleteFunc(keys, func(k TopKey) bool { return !sees(k.Key) })
	}
	keys = keys[:min(len(keys), topShown)]
	rows := make([]keyRow, len(keys))
	for i, k := range keys {
		row := keyRow{Key: readable(k.Key), Count: grouped(k.Count)}
		row.Long = len(row.Key) > plainKey
		if row.Long || row.Key != k.Key {
			row.Bytes = strconv.Itoa(len(k.Key)) + " bytes"
		}
		if highest := keys[0].Count; highest > 0 {
			row.Share = int(max(k.Count*100/highest, 1))
		}
		rows[i] = row
	}
	return rows
}

// notices are what an operator should know of, in the order of weight.
func notices(s *Snapshot) (all []notice) {
	add := func(n uint64, text string) {
		if n > 0 {
			all = append(all, notice{grouped(n), text})
		}
	}
	if len(s.Cluster.Members) > 1 && s.Cluster.Leader == "" {
		all = append(all, notice{"No leader", "is known: no policy and no member can be changed until a majority of the voters answers"})
	}
	voters, alive := s.Cluster.alive(true)
	add(uint64(voters-alive), "of "+grouped(voters)+" voters do not answer this node")
	add(s.Panics, "commands failed with a defect of the server; the log has the stacks")
	add(s.NoRoom, "decisions failed because memory is full; raise --max-memory")
	add(s.EvictedNotFull, "keys were forgotten to make room; raise --max-memory")
	for _, c := range s.Refused {
		switch c.Name {
		case "clients":
			add(c.N, "connections were refused: --max-clients is reached")
		case "per_addr":
			add(c.N, "connections were refused: too many of one address that have not authenticated")
		}
	}
	add(s.AcceptErrors, "connections could not be accepted; the log says why")
	return all
}
