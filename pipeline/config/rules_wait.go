package config

import "github.com/tablewake/tablewake/pipeline"

// waitRules bounds how long the changes of any sink may wait for others: they hold the
// checkpoint back.
func (c *checker) waitRules(kind *value) {
	for _, e := range []*value{kind.get("batch").get("linger"), kind.get("roll").get("age")} {
		if e != nil && e.data != nil && e.duration() > pipeline.MaxLinger {
			c.fail(e, "write 1h or less", "%s is longer than an hour, and a change that waits holds the checkpoint back: after a crash the stream may have dropped it", e.source)
		}
	}
}
