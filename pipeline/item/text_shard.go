package item

// Shard returns the shard of a text, a number from 0 to shards-1. It is the 64-bit FNV-1a hash of the text's bytes,
// modulo shards. Stored keys contain the shard, so the function never changes.
func Shard(text string, shards int) int {
	const (
		offset = 14695981039346656037
		prime  = 1099511628211
	)
	hash := uint64(offset)
	for i := range len(text) {
		hash = (hash ^ uint64(text[i])) * prime
	}
	return int(hash % uint64(shards))
}
