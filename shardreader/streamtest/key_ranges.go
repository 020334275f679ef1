package streamtest

import (
	"cmp"
	"hash/fnv"
	"slices"
)

// keyRange is a range of key hashes; both ends are included.
type keyRange struct{ from, to uint64 }

var fullRange = keyRange{0, ^uint64(0)}

// split divides a range into n ranges.
func (r keyRange) split(n int) []keyRange {
	if n < 1 {
		panic("streamtest: a split into no shard")
	}
	step := (r.to - r.from) / uint64(n)
	if step == 0 {
		panic("streamtest: a shard cannot be split any further")
	}
	parts := make([]keyRange, n)
	for i := range parts {
		parts[i] = keyRange{r.from + uint64(i)*step, r.from + uint64(i+1)*step - 1}
	}
	parts[n-1].to = r.to
	return parts
}

func hash(key string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	x := h.Sum64() // similar short keys have similar upper bits: mix the bits
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// OpenShardOf returns the open shard of a key's records. Over time, each shard of a key is a descendant of the key's
// former shard. The key is any text that identifies the item.
func (st *Stream) OpenShardOf(key string) string {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	sh := st.openShardOf(key)
	if sh == nil {
		panic("streamtest: the stream is disabled, no shard takes records")
	}
	return sh.id
}

// openShardOf returns the open shard of a key; nil in a disabled stream. If that shard was dropped, openShardOf adds
// and returns a child of it. The caller holds the lock, here and below.
func (st *Stream) openShardOf(key string) *shard {
	if len(st.writable) == 0 {
		return nil
	}
	h := hash(key)
	i, _ := slices.BinarySearchFunc(st.writable, h, func(sh *shard, h uint64) int { return cmp.Compare(sh.keys.to, h) })
	sh := st.writable[i]
	if sh.gone {
		sh = st.addShard(sh.id, sh.keys)
		st.writable[i] = sh
	}
	return sh
}

// writableIndex returns the index of an open shard in st.writable.
func (st *Stream) writableIndex(sh *shard) int {
	i, _ := slices.BinarySearchFunc(st.writable, sh.keys.to,
		func(sh *shard, to uint64) int { return cmp.Compare(sh.keys.to, to) })
	return i
}
