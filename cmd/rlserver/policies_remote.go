package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// adminPasswordVariable is where the server, too, looks for the password.
const adminPasswordVariable = "RLSERVER_ADMIN_PASSWORD"

// remote is a running server, as its admin HTTP address shows it.
type remote struct {
	url          string
	user         string
	passwordFile string
	ca           string
	cert, key    string
	timeout      time.Duration

	policies string // the URL of the policies
	password string // empty: none is sent
	http     *http.Client
}

func (r *remote) flags(fs *flag.FlagSet) {
	r.timeout = 10 * time.Second
	fs.StringVar(&r.url, "url", "http://127.0.0.1:8379", "`URL` of the server's --admin-addr: http://host:port, or https:// with its --admin-tls")
	fs.StringVar(&r.user, "user", "admin", "`name` of the user; without a password none is named")
	fs.StringVar(&r.passwordFile, "password-file", "", "`file` whose first line is the user's password (default: the environment's "+adminPasswordVariable+")")
	fs.StringVar(&r.ca, "ca", "", "`file` with the authorities, in PEM form, one of which must have signed the server's certificate (default: those of the system)")
	fs.StringVar(&r.cert, "cert", "", "`file` with this client's certificate, in PEM form, for a server with --tls-ca")
	fs.StringVar(&r.key, "key", "", "`file` with the key of the certificate, in PEM form")
	fs.Var((*durationValue)(&r.timeout), "timeout", "`time` in which the server must answer a request")
}

// open checks what was set, all of it, and reads the files. It sends nothing.
func (r *remote) open(fs *flag.FlagSet, getenv func(string) string) error {
	target, err1 := parseAdminURL(r.url)
	err2 := r.readPassword(fs, getenv)
	var err3 error
	if r.timeout <= 0 {
		err3 = fmt.Errorf("--timeout must be more than 0, got %s", r.timeout)
	}
	security, err4 := r.tlsConfig()
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	switch {
	case target.Scheme == "http" && (r.ca != "" || r.cert != ""):
		return errors.New("--ca, --cert and --key need a --url that begins with https://")
	case target.Scheme == "http" && r.password != "" && !loopback(target.Hostname()):
		return fmt.Errorf("the password is not sent to %s, where others could read it on its way: "+
			"use https (--admin-tls at the server), or a tunnel to 127.0.0.1", target.Host)
	}
	r.policies = target.JoinPath("v1", "policies").String()
	r.http = &http.Client{
		Transport: &http.Transport{
			TLSClientConfig: security,
			// A server that refuses says so before the policies are sent.
			ExpectContinueTimeout: 3 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return nil
}

func (r *remote) close() { r.http.CloseIdleConnections() }

// parseAdminURL repeats nothing that could be a password.
func parseAdminURL(text string) (*url.URL, error) {
	target, err := url.Parse(text)
	switch {
	case strings.Contains(text, "@"):
		return nil, errors.New("--url must not have a user or a password: use --user and --password-file")
	case err != nil || target.Scheme != "http" && target.Scheme != "https" || target.Hostname() == "" || target.RawQuery != "" || target.Fragment != "":
		return nil, fmt.Errorf("--url must be http://host:port or https://host:port, got %q", text)
	}
	return target, nil
}

func (r *remote) readPassword(fs *flag.FlagSet, getenv func(string) string) (err error) {
	if r.passwordFile != "" {
		r.password, err = readSecret(r.passwordFile)
	} else if r.password = getenv(adminPasswordVariable); r.password != "" {
		err = checkSecret(r.password, adminPasswordVariable)
	}
	if err != nil {
		return err
	}
	if r.user == "" || strings.Contains(r.user, ":") {
		return fmt.Errorf("--user must be a name without a colon, got %q", r.user)
	}
	named := false
	fs.Visit(func(f *flag.Flag) { named = named || f.Name == "user" })
	if named && r.password == "" {
		return fmt.Errorf("--user needs a password: --password-file, or %s in the environment", adminPasswordVariable)
	}
	return nil
}

func (r *remote) tlsConfig() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if r.ca != "" {
		text, err := os.ReadFile(r.ca)
		if err != nil {
			return nil, fmt.Errorf("--ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("--ca %s: %w", r.ca, errNoCertificate)
		}
	}
	switch {
	case r.cert == "" && r.key == "":
		return config, nil
	case r.cert == "" || r.key == "":
		return nil, errors.New("--cert and --key need each other")
	}
	pair, err := tls.LoadX509KeyPair(r.cert, r.key)
	if err != nil {
		return nil, fmt.Errorf("--cert %s, --key %s: %w", r.cert, r.key, err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}
