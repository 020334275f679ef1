package config

// checkViewShards checks that a view has both shards and a {@shard} in its partition key, or neither. With shards, two
// items must not be able to claim the same row (request it). The shard depends on the item, so the two rows could be in
// different shards, and the collision would not be found.
func (c *checker) checkViewShards(s *Sink) {
	v := s.View
	key := c.ValueOf(&v.Key)
	if !c.hasAllEntries(key, len(v.Key)) {
		return // the binding has reported it
	}
	hasShard, oneItemPerRow := v.Key[0].Template.HasShard(), v.Unique() != nil || c.Has(&v.ForEach) || c.hasBrokenOf(s) ||
		c.hasWrongUnique(s.Scope)
	for i, col := range v.Key[1:] {
		c.FailIf(col.Template.HasShard(), key.Entries[i+1], "put {@shard} into the partition key, "+v.Key[0].Name,
			"{@shard} is in the sort key: rows of one partition would only sort by their shards")
		oneItemPerRow = oneItemPerRow || col.Template.HasKey()
	}
	keyHint := "put {@key} into the sort key, as in 'ROW#{@key}'; or remove shards and {@shard}"
	if len(v.unique) > 0 {
		keyHint = "put each name of `unique` into the key, with a text between it and others and |esc, as in '{A|esc}#{B|esc}'; or " + keyHint
	}
	switch hasShards := c.Has(&v.Shards); {
	case hasShards && !hasShard:
		example := v.Key[0].Template.String() + "#{@shard}"
		c.Fail(&v.Shards, "put {@shard} into the partition key, as in '"+example+"', or remove shards",
			"no {@shard} is in the partition key %s, so nothing is spread", v.Key[0].Name)
	case !hasShard:
	case !hasShards:
		c.Fail(key.Entries[0], "add shards: 10 beside key, or remove {@shard}",
			"{@shard} is in the partition key, and the view has no shards")
	case !oneItemPerRow && c.Has(&v.Collision) && !v.RowsGuardThemselves():
		c.Fail(&v.Collision, "remove it, and "+keyHint,
			"two items that claim one row would be in different shards, and never meet")
	case !oneItemPerRow:
		c.Fail(&v.Shards, keyHint,
			"shards need rows that one item alone can claim, each at a sort key of its own, "+
				"and no {@key} can be told from the sort key")
	}
}
