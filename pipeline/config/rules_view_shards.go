package config

import "slices"

// checkViewShards checks that a view has both shards and a {@shard} in its partition key, or neither. With shards, two
// items must not be able to claim (request) the same row. The shard depends on the item, so the rows of the two items
// could be in different shards, and the collision would not be found.
func (c *checker) checkViewShards(s *Sink) {
	v := s.View
	key := c.ValueOf(&v.Key)
	if !c.hasAllEntries(key, len(v.Key)) {
		return // yamlbind has reported it
	}
	partitionKey, sortKeys := v.Key[0], v.Key[1:]
	for i, col := range sortKeys {
		c.FailIf(col.Template.HasShard(), key.Entries[1+i], "put {@shard} into the partition key, "+partitionKey.Name,
			"{@shard} is in the sort key: rows of one partition would only sort by their shards")
	}
	hasShards, isSpread := c.Has(&v.Shards), partitionKey.Template.HasShard()
	switch {
	case hasShards && isSpread:
		c.checkOneItemPerRow(s)
	case hasShards:
		example := partitionKey.Template.String() + "#{@shard}"
		c.Fail(&v.Shards, "put {@shard} into the partition key, as in '"+example+"', or remove shards",
			"no {@shard} is in the partition key %s, so nothing is spread", partitionKey.Name)
	case isSpread:
		c.Fail(key.Entries[0], "add shards: 10 beside key, or remove {@shard}",
			"{@shard} is in the partition key, and the view has no shards")
	}
}

// checkOneItemPerRow checks that only one item can claim a row of a view with shards.
func (c *checker) checkOneItemPerRow(s *Sink) {
	v := s.View
	isReported := c.namesBrokenEntity(s) || c.hasWrongUnique(s.Scope) // a problem says why the item is not identified
	hasKeyInSortKey := slices.ContainsFunc(v.Key[1:], func(col Column) bool { return col.Template.HasKey() })
	identifiesItem := hasKeyInSortKey || v.Unique() != nil || c.Has(&v.ForEach) // checkForEach checks the last
	if isReported || identifiesItem {
		return
	}
	hint := "put {@key} into the sort key, as in 'ROW#{@key}'; or remove shards and {@shard}"
	if len(v.entityUnique) > 0 { // and the key lacks a name of it
		hint = "put each name of `unique` into the key, with a text between it and others and |esc, as in '{A|esc}#{B|esc}'; or " + hint
	}
	if c.Has(&v.Collision) && !v.RowsGuardThemselves() {
		c.Fail(&v.Collision, "remove it, and "+hint,
			"two items that claim one row would be in different shards, and never meet")
		return
	}
	c.Fail(&v.Shards, hint,
		"shards need rows that one item alone can claim, each at a sort key of its own, "+
			"and no {@key} can be told from the sort key")
}
