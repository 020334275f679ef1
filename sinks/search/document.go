package search

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
)

// appendDocument writes item as the plain JSON document of a change at version v.
func (f *fieldSet) appendDocument(dst []byte, item pipeline.Image, by string, v pipeline.Version) ([]byte, error) {
	dst = appendHeader(dst, by, v, false)
	for name, value := range item.All() {
		if !f.takes(name) {
			continue
		}
		field := name
		if to, renamed := f.rename[name]; renamed {
			field = to
		} else if from, taken := f.targets[name]; taken {
			if _, both := item.Get(from); both {
				return nil, fmt.Errorf("search: the attributes %q and %q both make the field %q: exclude one of them", from, name, name)
			}
		}
		dst = appendText(append(dst, ','), field)
		dst = appendValue(append(dst, ':'), value, f.numbers[name])
	}
	return append(dst, '}'), nil
}

// appendTombstone writes what stands in the place of a deleted document.
func appendTombstone(dst []byte, by string, v pipeline.Version) []byte {
	return append(appendHeader(dst, by, v, true), '}')
}

// appendHeader opens a document with who wrote it, and at which version.
func appendHeader(dst []byte, by string, v pipeline.Version, deleted bool) []byte {
	dst = append(dst, `{"`+reserved+`":{"version":"`...)
	dst = v.Append(dst)
	dst = appendText(append(dst, `","by":`...), by)
	if deleted {
		dst = append(dst, `,"deleted":true`...)
	}
	return append(dst, '}')
}

// appendValue writes v as plain JSON, its numbers in the form n. Only what can
// hold a number is walked.
func appendValue(dst []byte, v pipeline.Value, n Number) []byte {
	switch v.Kind() {
	case pipeline.KindN:
		if d, ok := v.Number(); ok {
			return appendNumber(dst, d, n)
		}
	case pipeline.KindNS, pipeline.KindL:
		dst = append(dst, '[')
		for i, e := range v.Elements() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, e, n)
		}
		return append(dst, ']')
	case pipeline.KindM:
		dst = append(dst, '{')
		first := true
		for name, m := range v.Members() {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = appendText(dst, name)
			dst = appendValue(append(dst, ':'), m, n)
		}
		return append(dst, '}')
	}
	return v.AppendJSON(dst)
}

func appendText(dst []byte, s string) []byte {
	return pipeline.StringValue(s).AppendJSON(dst)
}
