package admin

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// MetricsPage writes docs/metrics.md from the table of metrics.
func MetricsPage(w io.Writer) error {
	var page strings.Builder
	page.WriteString(`# Metrics

<!-- Made by make docs from the table of metrics; do not edit. -->

` + "`/metrics`" + ` on the admin port (` + "`--admin-addr`" + `) shows these to Prometheus. No label ever
holds a key, an address or a name that clients choose: the number of series does
not depend on what they send. [operations.md](operations.md) says what to watch.

| metric | type | labels | meaning |
|---|---|---|---|
`)
	for _, m := range metrics() {
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", m.name, m.kind, strings.ReplaceAll(labelsCell(m.labels), "|", `\|`), m.help)
	}
	page.WriteString("\nThe buckets of `rlserver_decision_duration_seconds` end at ")
	bounds := latencyBounds()
	for i, bound := range bounds {
		switch {
		case i == len(bounds)-1:
			page.WriteString(" and ")
		case i > 0:
			page.WriteString(", ")
		}
		page.WriteString(boundText(bound))
	}
	page.WriteString(".\n\n" + `Besides, as every Go program has them: ` + "`go_*`" + ` of the runtime (` + "`go_memstats_heap_inuse_bytes`" + `,
` + "`go_goroutines`, `go_gc_duration_seconds`" + `) and ` + "`process_*`" + ` of the system (` + "`process_cpu_seconds_total`" + `,
` + "`process_resident_memory_bytes`, `process_open_fds`, `process_start_time_seconds`" + `).
`)
	_, err := io.WriteString(w, page.String())
	return err
}

func labelsCell(labels []label) string {
	if len(labels) == 0 {
		return "-"
	}
	cells := make([]string, len(labels))
	for i, l := range labels {
		cells[i] = fmt.Sprintf("`%s`: %s", l.name, l.values)
	}
	return strings.Join(cells, "; ")
}

// boundText writes a bound of the histogram: 250 µs, 2.5 ms, 1 s.
func boundText(bound time.Duration) string {
	text := bound.String()
	digits := strings.TrimRight(text, "µms")
	return digits + " " + text[len(digits):]
}
