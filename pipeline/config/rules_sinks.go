package config

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
)

// checkRules checks the rules between keys. For example, a sink that keeps state must receive all deletes, and a sink
// must not feed itself. Each name must refer to something that exists.
func (c *checker) checkRules() {
	c.checkEntities()
	c.checkNames()
	c.checkConstants(c.declaredShapes)
	for _, d := range c.ValueOf(&c.cfg.Detectors).All() {
		c.checkComparedValues(d)
		c.checkThreshold(d)
		c.checkMembers(d)
	}
	c.checkPatterns()
	c.checkDates()
	for _, s := range c.sinks {
		c.checkSink(s)
	}
	c.checkCommonFilters()
	c.checkEvents()
	c.checkConnections()
	c.checkState()
	c.checkDeadLetters()
	c.checkConsumer()
	c.checkKinesis()
	c.checkSensitive()
}

// checkSink checks the keys of one sink. For an aggregate or a notify sink, it also resolves the names that keys bind.
func (c *checker) checkSink(s *Sink) {
	if s.KeepsState() {
		c.checkStateFilters(s.Filters, "under the state sink "+s.Name, []*Sink{s})
	}
	c.checkLinger(&s.Batch.Linger)
	switch {
	case s.View != nil:
		c.checkView(s)
		c.checkOneRow(s.View)
	case s.Aggregate != nil:
		c.bindValues(s)
		c.checkAggregate(s)
	case s.Search != nil:
		c.checkSearch(s)
	case s.Archive != nil:
		c.checkArchive(s.Archive)
	case s.Notify != nil:
		c.bindAttributes(s)
		c.checkNotify(s.Notify)
	}
}

// stateSinks returns the sinks that keep state, and their names.
func (c *checker) stateSinks() (stateful []*Sink, names []string) {
	for _, s := range c.sinks {
		if s.KeepsState() {
			stateful, names = append(stateful, s), append(names, s.Name)
		}
	}
	return stateful, names
}

// checkCommonFilters checks the filters at the top of the file, which apply to all sinks. They are checked only if a
// sink keeps state.
func (c *checker) checkCommonFilters() {
	stateful, names := c.stateSinks()
	switch len(names) {
	case 0:
	case 1:
		c.checkStateFilters(c.cfg.Filters, "above the state sink "+names[0], stateful)
	default:
		c.checkStateFilters(c.cfg.Filters, "above the state sinks "+yamlbind.Enumerate(names, "and"), stateful)
	}
}

// checkLinger refuses a linger above MaxLinger, because a waiting change delays the checkpoint.
func (c *checker) checkLinger(linger *time.Duration) {
	c.FailIf(*linger > pipeline.MaxLinger, linger, "write 1h or less",
		"%s is longer than an hour, and a change that waits holds the checkpoint back: after a crash the stream may have dropped it", c.ValueOf(linger).Written())
}

// checkNotify checks the target of the events.
func (c *checker) checkNotify(n *Notify) {
	hasTarget := n.Queue != "" || n.Topic != "" || n.Bus != ""
	c.failOnServersIf(!hasTarget, n, "add queue, topic or bus", "nothing is named that takes the events")
	c.failOnServersIf(n.Topic != "" && !hasRegionInARN(n.Topic), &n.Topic, "write arn:aws:sns:REGION:ACCOUNT:NAME",
		"it is not an ARN of a topic")
	c.checkTargetName(&n.Queue, "queue")
	c.checkTargetName(&n.Bus, "bus")
	c.FailIf(n.Region != "" && !regionName.MatchString(n.Region), &n.Region, "write a name such as eu-central-1",
		"%s is not a Region: no change would raise an event", yamlbind.Quoted(n.Region))
}

// hasRegionInARN reports whether the text is an ARN with a Region.
func hasRegionInARN(text string) bool {
	parts := strings.SplitN(text, ":", 6)
	return len(parts) == 6 && parts[0] == "arn" && parts[3] != ""
}

var regionName = regexp.MustCompile(`^[a-z]{2,}(-[a-z]+)+-[0-9]+$`)

// checkEvents checks that each name in the events of a notify sink is a detector. It warns of detectors whose events no
// sink receives.
func (c *checker) checkEvents() {
	detectors := textsOf(c.cfg.Detectors, func(d Detector) string { return d.Name })
	for _, s := range c.sinks {
		if s.Notify == nil {
			continue
		}
		for i, event := range c.ValueOf(&s.Notify.Events).All() {
			name := event.Text()
			if name == "" {
				continue // yamlbind has reported it
			}
			c.FailIf(!slices.Contains(detectors, name), event, yamlbind.Hint(name, detectors, "detect has"),
				"no detector is named %s", yamlbind.Quoted(name))
			c.failIfRepeated(s.Notify.Events[:i], event)
		}
	}

	for i := range c.cfg.Detectors {
		d := &c.cfg.Detectors[i]
		isUsed := slices.ContainsFunc(c.sinks, func(s *Sink) bool { return s.receivesEvents(d.Name) })
		c.WarnIf(!isUsed, d, "name it in the events of a notify sink, or remove it",
			"nobody uses the events of this detector")
	}
}
