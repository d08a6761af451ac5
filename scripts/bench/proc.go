package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// cpuTicks is the CPU time of a process so far, user and system, in ticks of
// the kernel's clock.
func cpuTicks(pid int) (uint64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseStat(string(stat))
}

// parseStat adds utime and stime, fields 14 and 15 of proc(5). Field 2 is the
// program's name in parentheses, which may hold blanks and parentheses itself.
func parseStat(stat string) (uint64, error) {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, errors.New("/proc stat: no program name")
	}
	fields := strings.Fields(stat[end+1:]) // from field 3 on
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc stat: %d fields after the name", len(fields))
	}
	utime, err := strconv.ParseUint(fields[11], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("/proc stat: utime: %w", err)
	}
	stime, err := strconv.ParseUint(fields[12], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("/proc stat: stime: %w", err)
	}
	return utime + stime, nil
}

// residentBytes is the memory of a process that is not swapped out.
func residentBytes(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return parseResident(string(status))
}

func parseResident(status string) (int64, error) {
	for line := range strings.Lines(status) {
		value, found := strings.CutPrefix(line, "VmRSS:")
		if !found {
			continue
		}
		kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc status: %w", err)
		}
		return kb << 10, nil
	}
	return 0, errors.New("/proc status: no VmRSS")
}

// ticksPerSecond is CLK_TCK, which the kernel tells each process when it
// starts it.
func ticksPerSecond() (float64, error) {
	vector, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		return 0, err
	}
	return parseTicks(vector)
}

// parseTicks finds AT_CLKTCK in pairs of a type and a value, each a word.
func parseTicks(vector []byte) (float64, error) {
	const clockTicks = 17
	word := func(b []byte) uint64 {
		if strconv.IntSize == 32 {
			return uint64(binary.NativeEndian.Uint32(b))
		}
		return binary.NativeEndian.Uint64(b)
	}
	const size = strconv.IntSize / 8
	for ; len(vector) >= 2*size; vector = vector[2*size:] {
		if hz := word(vector[size:]); word(vector) == clockTicks && hz > 0 {
			return float64(hz), nil
		}
	}
	return 0, errors.New("/proc auxv: no CLK_TCK")
}
