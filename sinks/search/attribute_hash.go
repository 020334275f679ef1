package search

import (
	"encoding/base64"
	"encoding/hex"
	"hash"
	"strconv"
	"sync"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
)

// hasher makes hashes under one key. It is safe for concurrent use.
type hasher struct{ macs sync.Pool } // a pool of hash.Hash

// hashOf returns the hash of a text. With the key, a document can be found by the hash:
//
//	printf %s ada@example.com | openssl dgst -sha256 -hmac "$KEY"
func (h *hasher) hashOf(text string) string {
	mac, _ := h.macs.Get().(hash.Hash)
	defer h.macs.Put(mac)
	mac.Reset()
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// append appends the hash of a scalar as a JSON string. The hashed text depends on the type. It is the text of an S,
// the canonical number of an N, "true" or "false" for a BOOL, or the base64url of a B without padding. NULL stays null,
// because there is nothing to hide.
func (h *hasher) append(dst []byte, v item.Value) []byte {
	var text string
	switch v.Kind() {
	case item.KindS:
		text, _ = v.Text()
	case item.KindN:
		d, _ := v.Number()
		text = d.String()
	case item.KindBOOL:
		b, _ := v.Bool()
		text = strconv.FormatBool(b)
	case item.KindB:
		b, _ := v.Bytes()
		text = base64.RawURLEncoding.EncodeToString(b)
	default:
		return append(dst, "null"...)
	}
	dst = append(dst, '"')
	dst = append(dst, h.hashOf(text)...)
	return append(dst, '"')
}

// maxHashDepth is the maximum number of names in a path. A path of n names has 2^(n-1) patterns (see patternsOf).
const maxHashDepth = 8

// withoutHashed returns the mask without the attributes at paths. They are hashed, so they need no mask. A path in
// Fields has no index for a list on its way, but a pattern of a mask has an index there. So each path becomes several
// patterns.
func withoutHashed(mask *mask.Mask, paths []string) (*mask.Mask, error) {
	if mask == nil {
		return nil, nil
	}
	var hashed []item.Pattern
	for _, path := range paths {
		names, err := pathNames(path)
		if err != nil {
			return nil, err
		}
		if len(names) > maxHashDepth {
			return nil, errs.Errorf("%q is too deep: %d names are the most", path, maxHashDepth)
		}
		for _, pattern := range patternsOf(names) {
			p, err := item.ParsePattern(pattern)
			if err != nil {
				return nil, err
			}
			hashed = append(hashed, p)
		}
	}
	return mask.Except(hashed), nil
}

// patternsOf returns the patterns of a path of names. A list may follow each name but the last.
func patternsOf(names []string) []string {
	patterns := []string{""}
	for i, name := range names {
		step := "[" + strconv.Quote(name) + "]"
		var longer []string
		for _, pattern := range patterns {
			longer = append(longer, pattern+step)
			if i > 0 {
				longer = append(longer, pattern+"[*]"+step)
			}
		}
		patterns = longer
	}
	return patterns
}
