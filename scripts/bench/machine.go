package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// machine is what the numbers depend on.
type machine struct {
	CPU    string
	Cores  int
	Kernel string
	Go     string
	Redis  string
	Load   string // average of the last minute: is the machine quiet?
}

func thisMachine(ctx context.Context) (machine, error) {
	m := machine{Cores: runtime.NumCPU(), Go: strings.TrimPrefix(runtime.Version(), "go")}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return m, err
	}
	m.CPU = parseCPU(string(info))
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return m, err
	}
	m.Kernel = strings.TrimSpace(string(kernel))
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return m, err
	}
	m.Load, _, _ = strings.Cut(string(load), " ")
	version, err := output(ctx, "", "redis-server", "--version")
	if err != nil {
		return m, err
	}
	m.Redis, err = parseRedisVersion(version)
	return m, err
}

// parseCPU is the model of the first processor in /proc/cpuinfo, which some
// architectures do not tell.
func parseCPU(info string) string {
	for line := range strings.Lines(info) {
		name, value, found := strings.Cut(line, ":")
		if found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH + " processor"
}

// parseRedisVersion reads "Redis server v=7.0.15 sha=... malloc=... bits=64".
func parseRedisVersion(text string) (string, error) {
	for _, word := range strings.Fields(text) {
		if version, found := strings.CutPrefix(word, "v="); found {
			return version, nil
		}
	}
	return "", fmt.Errorf("redis-server --version says %q", text)
}
