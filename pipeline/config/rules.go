package config

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
)

// rules checks what no single key can say: that nothing of the file loses a
// delete, feeds itself, or names what is not there.
func (c *checker) rules(cfg *Config, root *value) {
	var stateful []Sink
	for i, s := range cfg.Sinks {
		v := root.get("sinks").all()[i]
		if s.View != nil || s.Aggregate != nil || s.Search != nil {
			stateful = append(stateful, s)
			c.stateFilters(s.Filters, "under the state sink "+s.Name, []Sink{s})
		}
		if len(v.all()) != 1 {
			continue
		}
		kind := v.entries[0]
		c.waitRules(kind)
		c.liveRules(cfg, i, kind)
		switch {
		case s.View != nil:
			c.viewRules(cfg, i, kind)
		case s.Aggregate != nil:
			c.aggregateRules(cfg, i, kind)
		case s.Search != nil:
			c.searchRules(cfg, i, kind)
		case s.Archive != nil:
			c.archiveRules(s.Archive, kind)
			c.objectNameRules(s.Archive, kind)
			c.tagRules(kind)
			c.bucketRules(kind.get("bucket"))
		case s.Notify != nil:
			c.targetRules(kind)
		}
	}
	if len(stateful) > 0 {
		names := make([]string, len(stateful))
		for i, s := range stateful {
			names[i] = s.Name
		}
		noun := "sink"
		if len(names) > 1 {
			noun = "sinks"
		}
		c.stateFilters(cfg.Filters, "above the state "+noun+" "+enumerate(names, "and"), stateful)
	}
	c.letterRules(cfg, root)
	c.eventRules(cfg, root)
	c.serverRules(cfg, root)
	c.readerRules(cfg, root)
	c.kinesisRules(cfg, root)
	c.sensitiveRules(cfg, root)
}

// letterRules warns of a consumer without dead letters, where a sink can refuse a change for good.
func (c *checker) letterRules(cfg *Config, root *value) {
	if cfg.Leases == nil || cfg.DeadLetters != nil {
		return
	}
	for i, s := range cfg.Sinks {
		if s.Archive == nil {
			c.warn(root.get("sinks").all()[i], "add dead_letters: {queue: NAME} or another place for them", "a change that this sink can never write blocks its item and the checkpoint: the file has no dead_letters")
			return
		}
	}
}

// eventRules checks that notify asks for events that a detector raises, and that
// someone asks for each.
func (c *checker) eventRules(cfg *Config, root *value) {
	names := make([]string, 0, len(cfg.Detectors))
	for _, d := range cfg.Detectors {
		names = append(names, d.Name)
	}
	used := make(map[string]bool)
	for i, s := range cfg.Sinks {
		switch {
		case s.Custom != nil: // is given all of them
			for _, n := range names {
				used[n] = true
			}
		case s.Notify != nil:
			events := root.get("sinks").all()[i].entries[0].get("events")
			for j, e := range events.all() {
				if e.text() == "" {
					continue // said by the walk
				}
				if !slices.Contains(names, e.text()) {
					c.fail(e, meant(e.text(), names, "detect has"), "no detector is named %s", quoted(e.text()))
				}
				if slices.Contains(s.Notify.Events[:j], e.text()) {
					c.fail(e, "remove one of them", "%s stands twice", quoted(e.text()))
				}
				used[e.text()] = true
			}
		}
	}
	for _, d := range root.get("detect").all() {
		if !used[d.name] {
			c.warn(d, "name it in the events of a notify sink, or remove it", "nobody uses the events of this detector")
		}
	}
}

// maxHashDepth bounds the names of a hashed path beside sensitive: each doubles the patterns that it
// comes to.
const maxHashDepth = 8

// searchRules checks the index and the fields of a search sink.
func (c *checker) searchRules(cfg *Config, i int, v *value) {
	c.indexRules(cfg, i, v)
	c.mappingRules(cfg.Sinks[i].Search, v)
	c.routingRules(cfg.Sinks[i].Search.Routing, v.get("routing"))
	fields := v.get("fields")
	include, exclude := fields.get("include"), fields.get("exclude")
	included := make(map[string]bool)
	for _, e := range include.all() {
		place := strings.Join(c.names(e, e.source), "\x00")
		included[place] = true
		if place == "_tw" {
			c.fail(e, "remove it", "_tw is where a document keeps its version")
		}
	}
	for _, e := range fields.get("hash").all() {
		place := strings.Join(c.names(e, e.source), "\x00")
		for _, x := range exclude.all() {
			if out := strings.Join(namesOf(x.source), "\x00"); out != "" && (place == out || strings.HasPrefix(place, out+"\x00")) {
				c.fail(e, "remove one of them", "%s is excluded: there is nothing to hash", quoted(e.source))
			}
		}
		if place == "_tw" {
			c.fail(e, "remove it", "_tw is where a document keeps its version")
		}
		if len(cfg.Sensitive) > 0 && len(namesOf(e.source)) > maxHashDepth {
			c.fail(e, "hash an attribute around it", "the path has %d names, and %d are the most beside sensitive", len(namesOf(e.source)), maxHashDepth)
		}
	}
	for _, e := range exclude.all() {
		if place := strings.Join(c.names(e, e.source), "\x00"); place != "" && included[place] {
			c.fail(e, "remove one of them", "%s is included too", quoted(e.source))
		}
	}
	for _, e := range fields.get("numbers").all() {
		c.names(e, e.name)
	}
	renamed := make(map[string]string) // by place of the new name
	for _, e := range fields.get("rename").all() {
		names := c.names(e, e.name)
		if names == nil {
			continue
		}
		names[len(names)-1] = e.text()
		place := strings.Join(names, "\x00")
		if e.text() == "" && e.data != nil {
			c.fail(e, "write the field's name, or remove it", "a field has a name")
		}
		if other, taken := renamed[place]; taken {
			c.fail(e, "give each its own name", "%s has this name already", other)
		}
		if place == "_tw" {
			c.fail(e, "give it another name", "_tw is where a document keeps its version")
		}
		renamed[place] = e.name
	}
}

// namesOf are the names that a path leads through; nil where there are others too.
func namesOf(path string) []string {
	p, err := pipeline.ParsePath(path)
	if err != nil {
		return nil
	}
	names, _ := p.Names()
	return names
}

// names are the names that a path leads through. A path to an element of a list is
// refused: a document has all of them.
func (c *checker) names(v *value, path string) []string {
	p, err := pipeline.ParsePath(path)
	if err != nil {
		return nil // said by the walk
	}
	names, ok := p.Names()
	if !ok {
		c.fail(v, "write the path without the index: all elements of the list are meant", "%s names one element of a list", path)
		return nil
	}
	return names
}

func (c *checker) warnAmbiguous(v *value, what string) {
	c.warn(v, "put a text between the placeholders that they cannot hold, or escape them with |esc", "parts of it could run together: %s", what)
}
