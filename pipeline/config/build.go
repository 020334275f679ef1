package config

import (
	"cmp"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// build fills the specs from the checked file. It goes on where the walk found
// something wrong, so that the rules can be asked of the rest.
func (c *checker) build(cfg *Config, root *value) {
	cfg.Name = root.get("name").text()
	cfg.Source = c.buildSource(root.get("source"))
	cfg.Attributes = kinds(root.get("attributes"))
	cfg.Filters = c.buildFilters(root.get("filters"), cfg.Source)
	for _, v := range root.get("detect").all() {
		cfg.Detectors = append(cfg.Detectors, c.buildDetector(v))
	}
	for _, v := range root.get("sinks").all() {
		cfg.Sinks = append(cfg.Sinks, c.buildSink(v, cfg.Source))
	}
	cfg.DeadLetters = buildDeadLetters(root.get("dead_letters"))
	cfg.State = buildState(root.get("state"))
	cfg.Leases = buildLeases(root.get("leases"))
	for _, v := range root.get("connections").all() {
		cfg.Connections = append(cfg.Connections, buildConnection(v))
	}
	cfg.Metrics = map[string]Metrics{"emf": MetricsEMF, "otlp": MetricsOTLP, "none": MetricsNone}[root.get("metrics").text()]
	cfg.HMACKey = root.get("hmac_key").text()
	cfg.Sensitive = patterns(root.get("sensitive"))
}

func (c *checker) buildSource(v *value) Source {
	s := Source{
		Line:          v.line(),
		TTLAttribute:  v.get("ttl_attribute").text(),
		Kinesis:       v.get("kinesis").text(),
		DynamoDBLocal: v.get("emulator").text() == "dynamodb-local",
		Start:         c.buildStart(v.get("start")),
		ContinueOnGap: v.get("on_gap").text() == "continue",
		Polling: Polling{
			MaxIdle:       cmp.Or(v.get("polling").get("max_idle").duration(), 5*time.Second),
			CallsPerMonth: v.get("polling").get("calls_per_month").integer(),
		},
	}
	for _, t := range append(v.get("tables").texts(), v.get("table").text(), v.get("stream").text()) {
		if t != "" {
			s.Tables = append(s.Tables, tableOf(t))
		}
	}
	return s
}

// buildStart reads the word or the time at which a stream is begun.
func (c *checker) buildStart(v *value) Start {
	switch text := v.text(); text {
	case "", "trim_horizon":
		return Start{}
	case "latest":
		return Start{Latest: true}
	default:
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			c.fail(v, "write it as 2026-01-31T12:00:00Z or 2026-01-31T12:00:00+02:00", "%s is no time", quoted(text))
		}
		return Start{Time: at.UTC()}
	}
}

// tableOf reads a table's name, its ARN, or its stream's.
func tableOf(nameOrARN string) Table {
	t := Table{Name: tableName(nameOrARN)}
	if strings.Contains(nameOrARN, "/stream/") {
		t.StreamARN = nameOrARN
	}
	return t
}

// tableName is the name within a table's ARN, or the name itself.
func tableName(nameOrARN string) string {
	_, rest, isARN := strings.Cut(nameOrARN, ":table/")
	if !isARN {
		return nameOrARN
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// tableARN is a table's ARN; "" of a name.
func tableARN(nameOrARN string) string {
	if strings.Contains(nameOrARN, ":table/") {
		return nameOrARN
	}
	return ""
}

// kinds is the declared types by attribute.
func kinds(v *value) map[string]pipeline.Kind {
	byTag := map[string]pipeline.Kind{
		"S": pipeline.KindS, "N": pipeline.KindN, "B": pipeline.KindB, "BOOL": pipeline.KindBOOL, "NULL": pipeline.KindNULL,
		"M": pipeline.KindM, "L": pipeline.KindL, "SS": pipeline.KindSS, "NS": pipeline.KindNS, "BS": pipeline.KindBS,
	}
	if v == nil {
		return nil
	}
	m := make(map[string]pipeline.Kind)
	for _, e := range v.all() {
		if k, ok := byTag[e.text()]; ok {
			m[e.name] = k
		}
	}
	return m
}

func buildDeadLetters(v *value) *DeadLetters {
	if v == nil {
		return nil
	}
	d := &DeadLetters{
		Line:   v.line(),
		Bucket: v.get("bucket").text(),
		Prefix: v.get("prefix").text(),
		Queue:  v.get("queue").text(),
		Dir:    v.get("dir").text(),
	}
	d.MaxHold = cmp.Or(v.get("max_hold").duration(), 12*time.Hour)
	d.AutoRedrive = v.get("redrive").text() == "auto"
	d.NoHold = v.get("quarantine").text() == "none"
	if v.get("undecodable").text() == "block" {
		d.Undecodable = BlockOnUndecodable
	}
	return d
}

func buildState(v *value) *State {
	if v == nil {
		return nil
	}
	return &State{
		Line:           v.line(),
		Table:          tableName(v.get("table").text()),
		ARN:            tableARN(v.get("table").text()),
		GuardRetention: cmp.Or(v.get("guard_retention").duration(), 30*24*time.Hour),
	}
}

func buildLeases(v *value) *Leases {
	if v == nil {
		return nil
	}
	return &Leases{
		Line:     v.line(),
		Table:    tableName(v.get("table").text()),
		ARN:      tableARN(v.get("table").text()),
		File:     v.get("file").text(),
		Duration: cmp.Or(v.get("duration").duration(), 6*time.Second),
	}
}

func buildConnection(v *value) Connection {
	return Connection{
		Name:       v.name,
		Line:       v.line(),
		OpenSearch: v.get("opensearch").text(),
		Auth:       cmp.Or(v.get("auth").text(), "sigv4"),
		Region:     v.get("region").text(),
		AssumeRole: v.get("assume_role").text(),
		CA:         v.get("ca").text(),
		User:       v.get("user").text(),
		Password:   v.get("password").text(),
	}
}
