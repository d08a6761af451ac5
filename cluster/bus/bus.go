// Package bus carries bytes between nodes that trust each other: TLS 1.3 on one
// TCP port per node, each connection on one lane.
package bus
