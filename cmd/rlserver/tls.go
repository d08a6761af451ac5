package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// certificates serves a key pair, and optionally the authority that clients'
// certificates must come from, from files that may change while it runs.
type certificates struct {
	certFile, keyFile, caFile string // caFile may be empty

	current atomic.Pointer[tls.Config]
	loaded  pemFiles // what current was made of; only reload touches it
}

// pemFiles are the contents of the three files. They are compared rather than
// the files' times: they are a few kilobytes, and a time can be set back.
type pemFiles struct{ cert, key, ca []byte }

var errNoCertificate = errors.New("no certificate in PEM form")

func newCertificates(certFile, keyFile, caFile string) (*certificates, error) {
	c := &certificates{certFile: certFile, keyFile: keyFile, caFile: caFile}
	_, err := c.reload()
	return c, err
}

// serverConfig asks for the current files at each handshake.
func (c *certificates) serverConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return c.current.Load(), nil
		},
	}
}

// reload loads the files if they changed; it says whether they did. What does
// not load leaves the old ones in use.
func (c *certificates) reload() (changed bool, err error) {
	files, err := c.read()
	if err != nil || files.equal(c.loaded) {
		return false, err
	}
	config, err := c.configOf(files)
	if err != nil {
		return false, err
	}
	c.current.Store(config)
	c.loaded = files
	return true, nil
}

func (c *certificates) read() (files pemFiles, err error) {
	var errs [3]error
	files.cert, errs[0] = os.ReadFile(c.certFile)
	files.key, errs[1] = os.ReadFile(c.keyFile)
	if c.caFile != "" {
		files.ca, errs[2] = os.ReadFile(c.caFile)
	}
	return files, errors.Join(errs[:]...)
}

func (f pemFiles) equal(g pemFiles) bool {
	return bytes.Equal(f.cert, g.cert) && bytes.Equal(f.key, g.key) && bytes.Equal(f.ca, g.ca)
}

func (c *certificates) configOf(files pemFiles) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(files.cert, files.key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s, key %s: %w", c.certFile, c.keyFile, err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if c.caFile == "" {
		return config, nil
	}
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(files.ca) {
		return nil, fmt.Errorf("authority %s: %w", c.caFile, errNoCertificate)
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	// A session that is resumed would be let in on the word of an authority
	// that has been replaced since.
	config.SessionTicketsDisabled = true
	return config, nil
}

// expires is when the server's certificate ends.
func (c *certificates) expires() time.Time {
	return c.current.Load().Certificates[0].Leaf.NotAfter
}

// tlsDoor is a listener over TLS for HTTP that tells of handshakes that failed.
// Its connections make theirs when they are read first.
type tlsDoor struct {
	net.Listener

	patience time.Duration // for a handshake
	failed   func(addr string, err error)
}

// Accept implements net.Listener.
func (d tlsDoor) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &tlsConn{Conn: conn, door: d}, nil
}

type tlsConn struct {
	net.Conn

	once sync.Once
	door tlsDoor
}

// Read implements net.Conn.
func (c *tlsConn) Read(b []byte) (int, error) {
	c.once.Do(c.handshake)
	return c.Conn.Read(b) // which tells again why a handshake failed
}

func (c *tlsConn) handshake() {
	secure, ok := c.Conn.(*tls.Conn)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.door.patience)
	defer cancel()
	err := secure.HandshakeContext(ctx)
	if err == nil || errors.Is(err, net.ErrClosed) {
		return
	}
	c.door.failed(c.RemoteAddr().String(), err)
	var noTLS tls.RecordHeaderError
	if errors.As(err, &noTLS) && noTLS.Conn != nil && speaksHTTP(noTLS.RecordHeader) {
		_, _ = io.WriteString(noTLS.Conn, "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"+
			"this address speaks HTTPS (--admin-tls)\n") // the client may have gone
	}
}

// speaksHTTP says whether a client that does not speak TLS began a request that
// the side door knows, by its first five bytes.
func speaksHTTP(began [5]byte) bool {
	switch string(began[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "DELET", "OPTIO":
		return true
	}
	return false
}
