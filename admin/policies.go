package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/policy"
)

// Policies is the replicated set of policies. Writes call done once, within a
// bounded time, from any goroutine. Their errors are policy.ErrNotWritten,
// policy.ErrOutcomeUnknown and *policy.VersionError, wrapped or not, or what is
// wrong with the policy.
type Policies interface {
	View() *policy.View
	// Set and Delete are as in package commands.
	Set(p *policy.Policy, ifVersion *uint64, done func(version uint64, err error))
	Delete(name string, ifVersion *uint64, done func(existed bool, err error))
	// Replace makes the set the whole of what there is, or with keep adds it to
	// what there is: all of it or nothing.
	Replace(set []*policy.Rule, keep bool, done func(err error))
	Bounds() limit.Bounds
}

// Bounds of what is sent.
const (
	maxPolicyBody = 64 << 10 // bytes of one policy
	maxSetBody    = 16 << 20 // bytes of a set
	maxListed     = 1000     // policies in one answer
	defaultListed = 100
)

// policyRoutes serves policies: readers look, admins change.
func (s *Server) policyRoutes(mux *http.ServeMux) {
	h := policyHandlers{s.cfg.Policies}
	route := func(pattern string, least Role, handler func(w http.ResponseWriter, r *http.Request) error) {
		mux.Handle(pattern, s.allow(least, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := handler(w, r); err != nil {
				writeProblem(w, err)
			}
		})))
	}
	route("GET /v1/policies", RoleReader, h.list)
	route("PUT /v1/policies", RoleAdmin, h.replace)
	for path, named := range map[string]func(*http.Request) subject{"/v1/policies/{name}": ofName, "/admin/policies/{client}": ofClient} {
		route("GET "+path, RoleReader, func(w http.ResponseWriter, r *http.Request) error { return h.get(w, named(r)) })
		route("PUT "+path, RoleAdmin, func(w http.ResponseWriter, r *http.Request) error { return h.put(w, r, named(r)) })
		route("DELETE "+path, RoleAdmin, func(w http.ResponseWriter, r *http.Request) error { return h.delete(w, r, named(r)) })
	}
}

// takesBody says whether a request may change something.
func (s *Server) takesBody(r *http.Request) bool {
	return s.cfg.Policies != nil && (r.Method == http.MethodPut || r.Method == http.MethodDelete) &&
		(strings.HasPrefix(r.URL.Path, "/v1/policies") || strings.HasPrefix(r.URL.Path, "/admin/policies/"))
}

// subject is the policy that a path speaks of.
type subject struct {
	name   string
	client string // it is this client's override; empty: any policy
}

func ofName(r *http.Request) subject { return subject{name: r.PathValue("name")} }

// ofClient is the short form for the override of one client, a policy with a
// name made of the client's.
func ofClient(r *http.Request) subject {
	client := r.PathValue("client")
	return subject{name: "client:" + client, client: client}
}

type policyHandlers struct{ Policies }

// list answers {"policies": [...], "next": "..."}: at most `count` policies
// from the name `from` on; next is where to go on, and absent at the end.
func (h policyHandlers) list(w http.ResponseWriter, r *http.Request) error {
	count := defaultListed
	if text := r.FormValue("count"); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil || count < 1 || count > maxListed {
			return refused(http.StatusBadRequest, "count must be 1 to %d, got %q", maxListed, text)
		}
	}
	text, next := []byte(`{"policies": [`), ""
	n := 0
	for rule := range h.View().From(r.FormValue("from")) {
		if n == count {
			next = rule.Name
			break
		}
		if n > 0 {
			text = append(text, ',')
		}
		text = rule.AppendJSON(append(text, '\n'))
		n++
	}
	text = append(text, "\n]"...)
	if next != "" {
		text = fmt.Appendf(text, `, "next": %s`, jsonText(next))
	}
	writeJSON(w, http.StatusOK, append(text, '}'))
	return nil
}

func (h policyHandlers) get(w http.ResponseWriter, about subject) error {
	rule := h.View().Get(about.name)
	if rule == nil {
		return noSuchPolicy(about)
	}
	writePolicy(w, http.StatusOK, rule, nil)
	return nil
}

func noSuchPolicy(about subject) error {
	if about.client != "" {
		return refused(http.StatusNotFound, "client %q has no override; its policy would be named %q", about.client, about.name)
	}
	return refused(http.StatusNotFound, "no policy is named %q; GET /v1/policies lists them", about.name)
}

// put sets one policy. If-Match and If-None-Match are IFVERSION.
func (h policyHandlers) put(w http.ResponseWriter, r *http.Request, about subject) error {
	ifVersion, err := wantedVersion(r)
	if err != nil {
		return err
	}
	body, err := readBody(w, r, maxPolicyBody)
	if err != nil {
		return err
	}
	rule, err := policy.ReadOne(body, about.name, h.Bounds())
	if err != nil {
		return refused(http.StatusBadRequest, "%w", err)
	}
	if about.client != "" {
		if rule.Client != "" && rule.Client != about.client {
			return refused(http.StatusBadRequest, "client must be %q or left out, got %q", about.client, rule.Client)
		}
		override := rule.Policy
		override.Client = about.client
		if rule, err = policy.Compile(override, h.Bounds()); err != nil {
			return refused(http.StatusBadRequest, "%w", err)
		}
	}
	view := h.View()
	if err := view.Check(rule); err != nil {
		return refused(http.StatusBadRequest, "%w", err)
	}
	status := http.StatusOK
	if view.Get(about.name) == nil {
		status = http.StatusCreated
	}
	version, err := wait(r.Context(), func(done func(uint64, error)) { h.Set(&rule.Policy, ifVersion, done) })
	if err != nil {
		return err
	}
	writePolicy(w, status, rule.WithVersion(version), view.Warnings(rule))
	return nil
}

func (h policyHandlers) delete(w http.ResponseWriter, r *http.Request, about subject) error {
	ifVersion, err := wantedVersion(r)
	if err != nil {
		return err
	}
	existed, err := wait(r.Context(), func(done func(bool, error)) { h.Delete(about.name, ifVersion, done) })
	if err != nil {
		return err
	}
	if !existed {
		return noSuchPolicy(about)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// replace sets all policies at once. It answers {"changes": ["+ ...", ...]},
// which with ?dry_run=true is what it would do.
func (h policyHandlers) replace(w http.ResponseWriter, r *http.Request) error {
	var flags [2]bool
	for i, name := range []string{"dry_run", "keep"} {
		if text := r.URL.Query().Get(name); text != "" {
			var err error
			if flags[i], err = strconv.ParseBool(text); err != nil {
				return refused(http.StatusBadRequest, "%s must be true or false, got %q", name, text)
			}
		}
	}
	dryRun, keep := flags[0], flags[1]
	body, err := readBody(w, r, maxSetBody)
	if err != nil {
		return err
	}
	set, err := policy.ReadSet(strings.NewReader(string(body)), h.Bounds())
	if err != nil {
		return refused(http.StatusBadRequest, "%w", err)
	}
	changes := h.View().Diff(set, keep)
	if !dryRun && len(changes) > 0 {
		if _, err := wait(r.Context(), func(done func(struct{}, error)) {
			h.Replace(set, keep, func(err error) { done(struct{}{}, err) })
		}); err != nil {
			return err
		}
	}
	text := []byte(`{"changes": [`)
	for i, change := range changes {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, '\n'), jsonText(change.String())...)
	}
	writeJSON(w, http.StatusOK, append(text, "\n]}"...))
	return nil
}

// wait waits for a write, or for the client to go away.
func wait[T any](ctx context.Context, begin func(done func(T, error))) (T, error) {
	type outcome struct {
		result T
		err    error
	}
	made := make(chan outcome, 1)
	begin(func(result T, err error) { made <- outcome{result, err} })
	select {
	case o := <-made:
		return o.result, o.err
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("the client went away: %w", policy.ErrOutcomeUnknown)
	}
}

// wantedVersion reads If-Match: "7" and If-None-Match: *; nil if any version
// will do.
func wantedVersion(r *http.Request) (*uint64, error) {
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	switch {
	case match == "" && none == "":
		return nil, nil
	case match == "" && none == "*":
		return new(uint64), nil
	case none == "":
		text, ok := strings.CutPrefix(match, `"`)
		text, ok2 := strings.CutSuffix(text, `"`)
		if version, err := strconv.ParseUint(text, 10, 63); err == nil && ok && ok2 && version > 0 {
			return &version, nil
		}
	}
	return nil, refused(http.StatusBadRequest, `If-Match must be the ETag of a policy, such as "7", or If-None-Match must be *; not both`)
}

// readBody reads at most so many bytes.
func readBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, refused(http.StatusRequestEntityTooLarge, "the body must be at most %d bytes", most)
	}
	if err != nil {
		return nil, refused(http.StatusBadRequest, "the body cannot be read: %w", err)
	}
	return body, nil
}

// writePolicy answers a policy, with its version as the ETag too.
func writePolicy(w http.ResponseWriter, status int, rule *policy.Rule, warnings []string) {
	w.Header().Set("ETag", fmt.Sprintf("%q", strconv.FormatUint(rule.Version, 10)))
	text := rule.AppendJSON(nil)
	if len(warnings) > 0 {
		text = append(text[:len(text)-1], `, "warnings": [`...)
		for i, warning := range warnings {
			if i > 0 {
				text = append(text, ", "...)
			}
			text = append(text, jsonText(warning)...)
		}
		text = append(text, "]}"...)
	}
	writeJSON(w, status, text)
}
