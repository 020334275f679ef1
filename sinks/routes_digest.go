package sinks

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
)

// RoutesDigest returns a digest of the names and targets of cfg's sinks. Processes with the same digest have the same
// sinks.
func RoutesDigest(cfg *config.Config) string {
	outputs := make(map[string]bool)
	for _, s := range cfg.Sinks {
		outputs[s.Name+" "+Target(s)] = true
	}
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(maps.Keys(outputs)), "\n")))
	return hex.EncodeToString(sum[:8])
}
