package config

// filters is a list of {drop: CONDITION} and {keep: CONDITION}.
func filters() *rule {
	c := condition()
	named := object(append([]key{
		{name: "name", rule: name(), doc: "What drops are counted by."},
	}, c.object.keys...)...)
	named.oneOf = c.object.oneOf
	first := either(c.scalar, named)
	first.ref = "named_condition"
	r := list(object(
		key{name: "drop", rule: first, doc: "Drops what meets the condition."},
		key{name: "keep", rule: first, doc: "Drops what does not meet the condition."},
	).one("drop", "keep"))
	r.ref = "filters"
	return r
}

// condition is a word, or a mapping of one key. It contains itself.
func condition() *rule {
	forms := object()
	c := either(words("ttl_deletes", "probable_ttl", "replication_echoes", "no_change"), forms)
	c.ref = "condition"
	forms.keys = []key{
		{name: "op", rule: list(words("INSERT", "MODIFY", "REMOVE", "SNAPSHOT", "UNKNOWN")), doc: "The operation is one of these."},
		{name: "key_prefix", rule: mapOf(nil, text()), doc: "A key attribute starts with the text."},
		{name: "entity", rule: mapOf(nil, list(text())), doc: "An attribute of the new image, else the old, is one of these texts."},
		{name: "changed", rule: list(pattern()), doc: "Something at one of the paths differs between old and new image."},
		{name: "unchanged", rule: list(pattern()), doc: "Nothing at any of the paths differs between old and new image."},
		{name: "expr", rule: changeExpr(), doc: "CEL over old, new, op, keys, time and ttl."},
		{name: "any", rule: list(c), doc: "One of the conditions is met."},
		{name: "all", rule: list(c), doc: "Each of the conditions is met."},
		{name: "not", rule: c, doc: "The condition is not met."},
	}
	forms.one(forms.keyNames()...)
	return c
}

func detector() *rule {
	r := object(
		key{name: "attribute", rule: path(), doc: "A value that moves: from, to, or across a threshold."},
		key{name: "from", rule: scalar(), def: "'*'", doc: "Value before; '*' for any."},
		key{name: "to", rule: scalar(), def: "'*'", doc: "Value after; '*' for any. Wanted beside from."},
		key{name: "below", rule: number(), doc: "The number crossed this downwards."},
		key{name: "above", rule: number(), doc: "The number crossed this upwards."},
		key{name: "changed", rule: list(pattern()), doc: "Something at one of the paths changed."},
		key{name: "appeared", rule: path(), doc: "The path exists now and did not before."},
		key{name: "disappeared", rule: path(), doc: "The path existed before and does not now."},
		key{name: "added", rule: path(), doc: "A set has a new member."},
		key{name: "removed", rule: path(), doc: "A set has lost a member."},
		key{name: "func", rule: name(), doc: "A Go function given to Assemble."},
		key{name: "when", rule: changeExpr(), doc: "Only of changes that meet this: CEL over old, new, op, keys, time and ttl."},
	).one("attribute", "changed", "appeared", "disappeared", "added", "removed", "func").atMostOne("below", "above")
	r.ref = "detector"
	return r
}

func scalar() *rule { return &rule{shape: scalarShape} }
