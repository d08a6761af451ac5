package admin

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// collector exports the table of metrics from one reading a scrape.
type collector struct {
	table []metric
	descs []*prometheus.Desc
	read  func() reading
}

// newRegistry returns a registry of its own with everything /metrics shows.
func newRegistry(read func() reading) (*prometheus.Registry, error) {
	c := &collector{table: metrics(), read: read}
	for i := range c.table {
		m := &c.table[i]
		names := make([]string, len(m.labels))
		for i, l := range m.labels {
			names[i] = l.name
		}
		c.descs = append(c.descs, prometheus.NewDesc(m.name, m.help, names, nil))
	}
	registry := prometheus.NewPedanticRegistry()
	for _, each := range []prometheus.Collector{
		c,
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := registry.Register(each); err != nil {
			return nil, err
		}
	}
	return registry, nil
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range c.descs {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	r := c.read()
	for i := range c.table {
		m, desc := &c.table[i], c.descs[i]
		if m.kind == histogram {
			out <- prometheus.MustNewConstHistogram(desc, r.Latency.count(), r.Latency.seconds(), r.Latency.cumulative())
			continue
		}
		m.read(&r, func(value float64, labels ...string) {
			for i := range labels {
				labels[i] = readable(labels[i]) // what is no UTF-8 cannot be exported
			}
			sample, err := prometheus.NewConstMetric(desc, m.kind.valueType(), value, labels...)
			if err != nil {
				sample = prometheus.NewInvalidMetric(desc, err)
			}
			out <- sample
		})
	}
}

func (k kind) valueType() prometheus.ValueType {
	if k == counter {
		return prometheus.CounterValue
	}
	return prometheus.GaugeValue
}
