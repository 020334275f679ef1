package config

// kinesisRules checks what holds of a table's changes that come over Kinesis: repeated, and
// not always in the order of the writes. Versions are creation times then.
func (c *checker) kinesisRules(cfg *Config, root *value) {
	source := root.get("source")
	v := source.get("kinesis")
	if v == nil || v.data == nil {
		return
	}
	if source.get("table") == nil {
		c.fail(v, "write source: {table: NAME, kinesis: ARN}", "wants the name of the one table that writes to it")
	}
	for _, of := range []*value{source.get("start"), source.get("on_gap"), source.get("polling"), root.get("leases")} {
		if of != nil {
			c.fail(of, "remove it: where a Lambda begins is its event source mapping's to say", "is of the table's own stream, and the source is a Kinesis stream")
		}
	}
	for i, s := range cfg.Sinks {
		of := root.get("sinks").all()[i]
		switch {
		case len(of.all()) != 1:
		case s.Aggregate != nil:
			c.fail(of.entries[0], "read the table's own stream (remove source.kinesis), or query the archive",
				"an aggregate over a Kinesis stream is refused: its records may repeat and come late")
		case s.Search != nil && s.Search.Fast:
			c.fail(of.entries[0].get("mode"), "write mode: exact", "compares whole seconds, and records of a Kinesis stream come in another order than they were written")
		case s.Notify != nil, s.Custom != nil:
			c.warn(of.entries[0], "give it the table's own stream where order matters", "records of a Kinesis stream may repeat, and come in another order than they were written")
		}
	}
}
