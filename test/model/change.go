package model

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/sinks/sinktest"
)

// documents returns the documents of a search index. The document of an item follows from its newest change.
func (k *Search) documents(sink, pipeline string, cs []change, count *Count) State {
	if k.ForEach != nil {
		return k.elementDocuments(sink, pipeline, cs, count)
	}
	s, newest := newState(), map[string]string{}
	for _, c := range cs {
		was, is := holds(k.When, c.Old), holds(k.When, c.New)
		if c.mayReplace {
			was = found
		}
		if is == failed { // the old image is only used to decide whether there may be a document
			s.requireLetter(sink, c, count)
			if was != missing && c.version >= newest[c.key] {
				newest[c.key] = c.version
				delete(s.Documents, k.Index+" "+c.key)
			}
			continue
		}
		if was == missing && is == missing {
			count.Idle++
			continue
		}
		if c.version < newest[c.key] {
			continue
		}
		newest[c.key] = c.version
		name := k.Index + " " + c.key
		delete(s.Documents, name)
		if is == found {
			doc := map[string]any{"_tw": map[string]any{"version": c.version, "by": pipeline}}
			for name, a := range c.New {
				doc[name] = plainJSON(a)
			}
			s.Documents[name] = DocumentText(doc)
		}
	}
	return s
}

// DocumentText returns a document as text. Equal documents have equal texts.
func DocumentText(doc map[string]any) string {
	b, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// plainJSON returns a value as a document shows it. A number keeps all its digits. It is a text if it is not an
// integer and a double would change it.
func plainJSON(a sinktest.Attr) any {
	switch tag(a) {
	case "S":
		return a["S"]
	case "N":
		text := decimal(number(a))
		whole, fraction, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
		if fraction != "" && len(strings.TrimLeft(whole+fraction, "0")) > 15 {
			return text
		}
		return json.Number(text)
	case "B":
		return a["B"]
	case "BOOL":
		return a["BOOL"]
	case "L":
		out := []any{}
		for _, e := range a["L"].([]sinktest.Attr) {
			out = append(out, plainJSON(e))
		}
		return out
	case "SS":
		return a["SS"]
	case "M":
		out := map[string]any{}
		for name, e := range members(a) {
			out[name] = plainJSON(e)
		}
		return out
	}
	return nil
}

// evalWhen evaluates the condition of the archive on a change. A missing image has no attributes.
func (k *Archive) evalWhen(c change) verdict {
	switch {
	case k.When == nil:
		return found
	case k.Image == "old":
		return k.When.eval(c.Old)
	}
	return k.When.eval(c.New)
}

// excludes reports whether k is an archive whose condition a change does not meet.
func (k *Archive) excludes(c change) bool { return k != nil && k.evalWhen(c) == missing }

// archived returns the objects of an archive: every change that it takes, once, or the newest change of each item.
func (k *Archive) archived(sink string, cs []change, count *Count) State {
	s := newState()
	newest := make(map[string]string) // versions by key
	for _, c := range cs {
		if k.evalWhen(c) == failed {
			s.requireLetter(sink, c, count)
			continue
		}
		if k.Kinds == nil || slices.Contains(k.Kinds, kindOf(c.Record)) {
			if k.newestOnly() {
				if c.version < newest[c.key] {
					continue
				}
				delete(s.Archived, ChangeName(k.Bucket, c.key, newest[c.key]))
				newest[c.key] = c.version
			}
			s.Archived[ChangeName(k.Bucket, c.key, c.version)] = ChangeText(c.EventName, c.Keys, c.Old, c.New)
		} else {
			count.Idle++
		}
	}
	return s
}

// newestOnly reports whether the archive keeps only the newest change of each item.
func (k *Archive) newestOnly() bool {
	return k.PerItem != nil && !slices.ContainsFunc(k.PerItem, func(p Part) bool { return p.Version })
}

func kindOf(r sinktest.Record) string {
	switch {
	case r.TTL:
		return "ttl_delete"
	case r.Removed():
		return "user_delete"
	}
	return "change"
}

// events returns the published events by id, each of them once.
func (k *Notify) events(sink string, ds []Detector, cs []change, count *Count) State {
	s := newState()
	for _, c := range cs {
		seen := false
		for _, d := range ds {
			if slices.Contains(k.Events, d.Name) && !c.TTL && d.sees(c) && d.Of.has(latest(c.Record)) == found {
				seen = true
				s.Events[EventName(sink, d.Name, c.key, c.version)] = "old " + attribute(c.Old, d.Attribute) + " new " + attribute(c.New, d.Attribute)
			}
		}
		if !seen {
			count.Idle++
		}
	}
	return s
}

// EventName names an event.
func EventName(sink, detector, key, version string) string {
	return strings.Join([]string{sink, detector, key, version}, " ")
}

func (d Detector) sees(c change) bool {
	was, is := c.Old[d.Attribute], c.New[d.Attribute]
	switch {
	case d.Op != "":
		return d.Op == c.EventName
	case d.Changes:
		return c.New != nil && attribute(c.Old, d.Attribute) != attribute(c.New, d.Attribute)
	case d.To != "":
		return is["S"] == d.To && was["S"] != d.To
	case d.Appears:
		return was == nil && is != nil
	}
	return was != nil && is == nil
}

// attribute returns a value as an event shows it: plain JSON, or "nothing" if the item does not have it.
func attribute(it sinktest.Item, name string) string {
	if it[name] == nil {
		return "nothing"
	}
	b, err := json.Marshal(plainEvent(it[name]))
	if err != nil {
		panic(err)
	}
	return string(b)
}

func plainEvent(a sinktest.Attr) any {
	if tag(a) == "N" {
		return json.Number(decimal(number(a)))
	}
	return plainJSON(a)
}
