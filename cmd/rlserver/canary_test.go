package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// Secrets that nothing may show.
const (
	appCanary   = "canary-application"
	adminCanary = "canary-administrator"
	wrongCanary = "canary-wrong"
)

// TestNothingShowsSecrets starts servers that got secrets in every way, asks
// everything that may show a setting, makes every mistake with a secret in it,
// and looks for the secrets in all that came back.
func TestNothingShowsSecrets(t *testing.T) {
	acl := "user default off\nuser app on >" + appCanary + " ~* +@decide +@read\nuser admin on >" + adminCanary + " ~* +@all\n"
	conf := write(t, "rlserver.conf", "password "+appCanary+"\nadmin-password "+adminCanary+"\n")
	for _, test := range []struct {
		name      string
		args, env []string
		app       string
	}{
		{"command line", []string{"--password", appCanary, "--admin-password=" + adminCanary}, nil, "default"},
		{"environment", nil, []string{"RLSERVER_PASSWORD=" + appCanary, "RLSERVER_ADMIN_PASSWORD=" + adminCanary}, "default"},
		{"config file", []string{"--config", conf}, nil, "default"},
		{"files", []string{
			"--password-file", write(t, "app", appCanary+"\n"), "--admin-password-file", write(t, "admin", adminCanary+"\n"),
		}, nil, "default"},
		{"ACL file", []string{"--acl-file", write(t, "acl", acl)}, nil, "app"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := serverCommand(t, append(test.args, "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--log-format", "json", "--log-level", "debug")...)
			cmd.Env = append(cmd.Env, test.env...)
			s := startCommand(t, cmd)
			surfaces := map[string]string{}
			c := dial(t, s.addr, nil)
			for _, command := range []string{
				"AUTH " + wrongCanary, "AUTH nobody " + wrongCanary, "HELLO 3 AUTH nobody " + wrongCanary, "AUTH a b " + appCanary,
				"HELLO 3 AUTH " + appCanary, "HELLO 3 SETNAME x AUTH " + test.app + " " + wrongCanary, "HELLO 2 AUTH admin " + adminCanary,
				"CONFIG GET *", "CONFIG GET *pass*", "CONFIG SET password " + appCanary, "CONFIG SET slowlog-log-slower-than 0",
				"AUTH " + test.app + " " + appCanary, "AUTH admin " + adminCanary, "AUTH admin " + wrongCanary, "HELLO 2 AUTH admin " + adminCanary,
				"CONFIG SET admin-password " + wrongCanary, "CONFIG REWRITE", "CONFIG RESETSTAT",
				"INFO everything", "CLIENT LIST", "CLIENT INFO", "ACL LIST", "ACL USERS", "ACL WHOAMI", "SLOWLOG GET -1",
				"COMMAND DOCS auth", "LATENCY LATEST", "LATENCY DOCTOR", "MEMORY STATS", "RL.TOP DENIED 10", "SCAN 0",
				"MULTI", "AUTH admin " + adminCanary, "EXEC",
			} {
				// What a reply may show is what nobody asked with.
				surfaces[command[:min(len(command), 14)]+"..."] += c.ask(t, command) + "\n"
			}
			for _, path := range []string{
				"/", "/live", "/metrics", "/healthz", "/readyz", "/nosuch", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2",
			} {
				for _, password := range []string{adminCanary, wrongCanary} {
					status, body := httpGet(t, "http://"+s.atHTTP+path, "admin", password)
					surfaces[path] += body
					if known := password == adminCanary; known && status >= 500 || !known && status == http.StatusOK && strings.HasPrefix(path, "/debug") {
						t.Errorf("%s answers %d", path, status)
					}
				}
			}
			s.signal(t, syscall.SIGHUP)
			s.expectLog(t, "users reloaded")
			s.stop(t)
			surfaces["log"] = s.log.String()
			warned := strings.Count(surfaces["log"], "a secret on the command line can be read by everybody")
			if typed := test.name == "command line"; typed && warned != 2 || !typed && warned != 0 {
				t.Errorf("%d warnings of secrets on the command line", warned)
			}
			for surface, text := range surfaces {
				if strings.Contains(text, "canary") {
					t.Errorf("%s shows a secret: %s", surface, text)
				}
			}
			if len(surfaces["/metrics"]) < 1000 || !strings.Contains(surfaces["CONFIG GET *..."], "admin-password") {
				t.Error("nothing was looked at")
			}
		})
	}
}

// Neither do the mistakes of a start, nor --help.
func TestMistakesShowNoSecrets(t *testing.T) {
	for name, args := range map[string][]string{
		"help":             {"--password", appCanary, "--help"},
		"version":          {"--password", appCanary, "--version"},
		"typo":             {"--pasword", appCanary},
		"typo with =":      {"--pasword=" + appCanary},
		"spaces":           {"--password", "a", appCanary, appCanary},
		"both":             {"--password", appCanary, "--password-file", write(t, "secret", appCanary)},
		"the same twice":   {"--password", appCanary, "--admin-password", appCanary},
		"too long":         {"--password", strings.Repeat(appCanary, maxSecret)},
		"exposed":          {"--admin-password", adminCanary, "--addr", "0.0.0.0:0"},
		"bad ACL":          {"--acl-file", write(t, "acl", "user a on "+appCanary+"\nuser b >"+appCanary+" on "+appCanary+"\nuser c #"+appCanary+"\n"+appCanary+"\n")},
		"key as authority": {"--tls-addr", "127.0.0.1:0", "--tls-cert", write(t, "c", appCanary), "--tls-key", write(t, "k", appCanary)},
	} {
		t.Run(name, func(t *testing.T) {
			got := execute(t, serverCommand(t, args...))
			if strings.Contains(got.stdout+got.stderr, "canary") || got.stdout+got.stderr == "" {
				t.Errorf("got %s%s", got.stdout, got.stderr)
			}
		})
	}
}

func httpGet(t *testing.T, url, user, password string) (status int, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Close = true
	if user != "" {
		request.SetBasicAuth(user, password)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}
