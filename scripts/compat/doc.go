// Package compat asks a real redis-server and an rlserver the same things, and
// compares the answers to the byte: replies, types and error texts, in both
// protocols. What is asked, and where the answers may differ and why, stands
// in testdata/generic.txt.
package compat
