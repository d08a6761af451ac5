// Package admin is the HTTP side door of a node: its health, its metrics,
// profiles, and a status page for people. Nothing but policies can be changed
// through it.
//
// It is meant for loopback or a private network. Everybody may ask for health;
// the rest is for those whom Config.Access lets in. Names in Host and Origin
// are checked on loopback too: a web page that makes its own name point to
// 127.0.0.1 must not read the keys of whoever looks at it.
package admin
