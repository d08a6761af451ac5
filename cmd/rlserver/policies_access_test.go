package main

import (
	"crypto/tls"
	"crypto/x509"
	"testing"

	"github.com/rlserver/rlserver/admin"
)

// twoUsers lets in admin, who changes policies, and reader, who looks.
func twoUsers(user, password string) (v admin.Visitor) {
	v.Role = map[string]admin.Role{"reader:r": admin.RoleReader, "admin:a": admin.RoleAdmin}[user+":"+password]
	return v
}

func TestPolicyPasswords(t *testing.T) {
	h := hostPolicies(t, nil, twoUsers)
	right, wrong := written(t, "right", "a\n"), written(t, "wrong", "b\n")
	readers := written(t, "readers", "r\n")
	apply := func(environment map[string]string, words ...string) outcome {
		return runPolicyWords(t, environment, document("a 1"), append([]string{"apply", "-", "--url", h.url}, words...)...)
	}
	apply(nil).expect(t, 1, "", "answers 401: a user and a password are needed: --user, and --password-file or RLSERVER_ADMIN_PASSWORD")
	apply(nil, "--password-file", wrong).expect(t, 1, "", `the server does not let in user "admin" with this password`)
	apply(nil, "--password-file", readers, "--user", "reader").expect(t, 1, "", "answers 403: this user may not see this (who applies needs the rights of @admin")
	if have := h.policies.names(); have != "" {
		t.Errorf("there are policies: %s", have)
	}
	apply(nil, "--password-file", right).expect(t, 0, "1 added", "")
	apply(map[string]string{adminPasswordVariable: "a"}).expect(t, 0, "nothing to change", "")
	apply(map[string]string{adminPasswordVariable: "b"}, "--password-file", right).expect(t, 0, "nothing to change", "")
	h.run(t, "", "export", "--password-file", readers, "--user", "reader").expect(t, 0, "name: a", "")

	apply(map[string]string{adminPasswordVariable: "a"}, "--url", "http://192.0.2.1:8379").
		expect(t, 1, "", "the password is not sent to 192.0.2.1:8379")
	apply(nil, "--user", "a:b", "--password-file", right).expect(t, 1, "", "--user must be a name without a colon")
}

func TestPolicyTLS(t *testing.T) {
	ours, others := newAuthority(t, "ours"), newAuthority(t, "others")
	files, foreign := ours.files(t), others.files(t)
	serverPair, err := tls.LoadX509KeyPair(files.cert, files.key)
	if err != nil {
		t.Fatal(err)
	}
	h := hostPolicies(t, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{serverPair}}, twoUsers)
	password := written(t, "password", "a\n")
	apply := func(words ...string) outcome {
		return h.run(t, document("a 1"), append([]string{"apply", "-", "--password-file", password}, words...)...)
	}
	apply().expect(t, 1, "", "--ca names the file with the authority of the server's certificate")
	apply("--ca", foreign.ca).expect(t, 1, "", "--ca names the file with the authority of the server's certificate")
	apply("--ca", password).expect(t, 1, "", "no certificate in PEM form")
	apply("--ca", files.ca).expect(t, 0, "1 added", "")
	h.run(t, "", "export", "--password-file", password, "--ca", files.ca).expect(t, 0, "name: a", "")

	plain := hostPolicies(t, nil, nil)
	plain.run(t, "", "export", "--ca", files.ca).expect(t, 1, "", "--ca, --cert and --key need a --url that begins with https://")
	runPolicyWords(t, nil, document("a 1"), "apply", "-", "--url", "https"+plain.url[len("http"):]).
		expect(t, 1, "", "--url must begin with http://")
}

// A server that wants a client's certificate refuses before it has the
// policies, so the outcome is known.
func TestPolicyClientCertificate(t *testing.T) {
	ours := newAuthority(t, "ours")
	files := ours.files(t)
	serverPair, err := tls.LoadX509KeyPair(files.cert, files.key)
	if err != nil {
		t.Fatal(err)
	}
	known := x509.NewCertPool()
	known.AddCert(ours.cert)
	h := hostPolicies(t, &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{serverPair},
		ClientCAs: known, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil)
	h.run(t, document("a 1"), "apply", "-", "--ca", files.ca).expect(t, 1, "", "--cert and --key")
	cert, key := pair(t, ours, &x509.Certificate{
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	certFile, keyFile := written(t, "client.crt", string(cert)), written(t, "client.key", string(key))
	h.run(t, document("a 1"), "apply", "-", "--ca", files.ca, "--cert", certFile, "--key", keyFile).expect(t, 0, "1 added", "")
	h.run(t, document("a 1"), "apply", "-", "--ca", files.ca, "--cert", certFile, "--key", certFile).expect(t, 1, "", "--key "+certFile)
}
