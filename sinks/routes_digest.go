package sinks

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
)

// RoutesDigest returns a digest of the names, targets and settings of cfg's sinks. Processes with the same digest write
// the same to the same targets.
func RoutesDigest(cfg *config.Config) string {
	outputs := make(map[string]bool)
	for _, s := range cfg.Sinks {
		text := s.Name + " " + Target(s)
		for _, name := range slices.Sorted(maps.Keys(s.Settings)) {
			text += " " + strconv.Quote(name) + "=" + strconv.Quote(s.Settings[name])
		}
		outputs[text] = true
	}
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(maps.Keys(outputs)), "\n")))
	return hex.EncodeToString(sum[:8])
}
