package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// digest is a hash of what shapes outputs: values, not how the file spells them. A key
// that says its default counts as absent, and the order of keys counts only
// where it means something.
func digest(root *value) string {
	h := sha256.New()
	digestValue(h, root)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func digestValue(h hash.Hash, v *value) {
	switch v.rule.shape {
	case objectShape:
		for _, k := range v.rule.keys {
			e := v.get(k.name)
			if e == nil || k.tuning || k.def != "" && strings.Trim(k.def, "'") == e.source {
				continue
			}
			fmt.Fprintf(h, "%q:", k.name)
			digestValue(h, e)
		}
	case mapShape:
		entries := slices.Clone(v.entries)
		if !v.rule.ordered {
			slices.SortFunc(entries, func(a, b *value) int { return strings.Compare(a.name, b.name) })
		}
		for _, e := range entries {
			fmt.Fprintf(h, "%q:", e.name)
			digestValue(h, e)
		}
	case listShape:
		for _, e := range v.entries {
			digestValue(h, e)
		}
	case anyShape:
		if n := as[*yaml.Node](v); n != nil {
			digestNode(h, n)
		}
	default:
		fmt.Fprintf(h, "%q", v.source)
	}
	fmt.Fprint(h, ";")
}

// digestNode digests what a custom sink is told.
func digestNode(h hash.Hash, n *yaml.Node) {
	fmt.Fprintf(h, "%d%s%q", n.Kind, n.ShortTag(), n.Value)
	for _, e := range n.Content {
		digestNode(h, e)
	}
	fmt.Fprint(h, ";")
}
