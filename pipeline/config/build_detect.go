package config

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/expr"
)

// buildDetector makes a detector of an entry of `detect`.
func (c *checker) buildDetector(v *value) Detector {
	d := Detector{Name: v.name, Line: v.line(), Func: v.get("func").text()}
	if x := as[*expr.Change](v.get("when")); x != nil {
		d.When = x
	}
	for _, k := range []string{"attribute", "appeared", "disappeared", "added", "removed"} {
		if p := v.get(k).written(); p != "" {
			d.paths = append(d.paths, p)
		}
	}
	d.paths = append(d.paths, paths(v.get("changed"))...)
	made := c.detector(v)
	if made != nil && d.When != nil {
		made, d.When = pipeline.When(d.When, made), nil
	}
	d.Detector = made
	return d
}

func (c *checker) detector(v *value) pipeline.Detector {
	for _, k := range []string{"from", "to", "below", "above"} {
		if e := v.get(k); e != nil && v.get("attribute") == nil {
			c.fail(e, "add attribute: PATH", "%q speaks of an attribute, and none is named", k)
		}
	}
	switch {
	case v.get("changed") != nil:
		return pipeline.PathChanged(patterns(v.get("changed"))...)
	case v.get("appeared") != nil:
		return pipeline.Appeared(pathOf(v.get("appeared")))
	case v.get("disappeared") != nil:
		return pipeline.Disappeared(pathOf(v.get("disappeared")))
	case v.get("added") != nil:
		return pipeline.MemberAdded(pathOf(v.get("added")))
	case v.get("removed") != nil:
		return pipeline.MemberRemoved(pathOf(v.get("removed")))
	case v.get("attribute") != nil:
		return c.attributeDetector(v)
	}
	return nil
}

// attributeDetector is a transition or a threshold.
func (c *checker) attributeDetector(v *value) pipeline.Detector {
	at := pathOf(v.get("attribute"))
	from, to, below, above := v.get("from"), v.get("to"), v.get("below"), v.get("above")
	switch {
	case (from != nil || to != nil) && (below != nil || above != nil):
		c.fail(v, "make two detectors of it", "a transition (from, to) and a threshold (below, above) cannot stand together")
	case below != nil:
		return pipeline.CrossedBelow(at, as[pipeline.Decimal](below))
	case above != nil:
		return pipeline.CrossedAbove(at, as[pipeline.Decimal](above))
	case from == nil && to == nil:
		c.fail(v, "for any change of it write changed: ["+quoted(v.get("attribute").source)+"]", "attribute wants one of from, to, below or above")
	case to == nil:
		c.fail(from, "add to: VALUE, or to: '*' for whatever it becomes", "a transition says what the value becomes")
	default:
		return pipeline.Transition(at, from.text(), to.text())
	}
	return nil
}

// pathOf is the path that the walk has checked.
func pathOf(v *value) pipeline.Path { return as[pipeline.Path](v) }
