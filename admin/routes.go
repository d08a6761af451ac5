package admin

import (
	"log/slog"
	"net/http"
	"net/http/pprof"
	"strconv"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxScrapes bounds scrapes at a time: each reads the whole process.
const maxScrapes = 4

// routes is everything the server answers.
func (s *Server) routes() (http.Handler, error) {
	registry, err := newRegistry(s.read)
	if err != nil {
		return nil, err
	}
	page, err := newPage(s)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	everybody := func(path string, h http.HandlerFunc) { mux.Handle(path, h) }
	reader := func(path string, h http.Handler) { mux.Handle(path, s.allow(RoleReader, h)) }
	profile := func(path string, h http.HandlerFunc) { mux.Handle(path, s.allow(RoleAdmin, boundSeconds(h))) }

	everybody("/healthz", verdict(s.cfg.Node.Live))
	everybody("/readyz", verdict(s.cfg.Node.Ready))
	reader("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: maxScrapes,
		EnableOpenMetrics:   true,
		ErrorHandling:       promhttp.ContinueOnError, // what can be shown is
		ErrorLog:            slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelError),
	}))
	reader("/{$}", http.HandlerFunc(page.whole))
	reader("/live", http.HandlerFunc(page.live))
	everybody("/page.css", page.file("page.css", "text/css; charset=utf-8"))
	everybody("/page.js", page.file("page.js", "text/javascript; charset=utf-8"))
	everybody("/favicon.svg", page.file("favicon.svg", "image/svg+xml"))
	profile("/debug/pprof/", pprof.Index) // without cmdline: it may hold a password
	profile("/debug/pprof/profile", pprof.Profile)
	profile("/debug/pprof/symbol", pprof.Symbol)
	profile("/debug/pprof/trace", pprof.Trace)
	if s.cfg.Policies != nil {
		s.policyRoutes(mux)
	}
	everybody("/", func(w http.ResponseWriter, _ *http.Request) {
		say(w, http.StatusNotFound, "there is /, /healthz, /readyz, /metrics, /v1/policies and /debug/pprof/")
	})
	return s.guard(mux), nil
}

// maxSeconds is the longest profile.
const maxSeconds = 60

// boundSeconds refuses profiles that take too long; pprof gives those that
// take some time a write deadline of their own.
func boundSeconds(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		seconds, err := strconv.ParseFloat(r.FormValue("seconds"), 64)
		if err == nil && !(seconds <= maxSeconds) { // NaN is too long
			say(w, http.StatusBadRequest, "seconds: at most "+strconv.Itoa(maxSeconds))
			return
		}
		next(w, r)
	}
}

// verdict answers 200, or 503 with what is wrong.
func verdict(check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if err := check(); err != nil {
			say(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		say(w, http.StatusOK, "ok")
	}
}

// read takes one reading of everything.
func (s *Server) read() reading {
	r := reading{
		Snapshot: s.cfg.Node.Snapshot(),
		ready:    s.cfg.Node.Ready() == nil,
		refused:  s.refused.counts(),

		authFailures: s.refused.password.Load(),
	}
	if s.cfg.Policies != nil {
		r.policies = int64(s.cfg.Policies.View().Len())
	}
	return r
}
