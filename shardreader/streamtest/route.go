package streamtest

import (
	"cmp"
	"hash/fnv"
	"slices"
)

// keyRange is a range of keys' hashes, both ends within.
type keyRange struct{ from, to uint64 }

var whole = keyRange{0, ^uint64(0)}

// split shares a range out among n.
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
	x := h.Sum64() // its upper bits are much alike for short keys that are much alike
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// Owner is the open shard that records of a key belong to: of all shards that a
// key ever had, each is a descendant of the one before. The key is any text that
// stands for the item.
func (st *Stream) Owner(key string) string {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	sh := st.owner(key)
	if sh == nil {
		panic("streamtest: the stream is disabled, no shard takes records")
	}
	return sh.id
}

// owner is nil in a disabled stream. Where the owner was dropped, a child of it
// takes over. The lock is held, here and below.
func (st *Stream) owner(key string) *shard {
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

// place is where an open shard stands among the open ones.
func (st *Stream) place(sh *shard) int {
	i, _ := slices.BinarySearchFunc(st.writable, sh.keys.to, func(sh *shard, to uint64) int { return cmp.Compare(sh.keys.to, to) })
	return i
}
