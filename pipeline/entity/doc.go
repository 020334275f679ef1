// Package entity distinguishes the entities (kinds of items) of a single-table design. An entity has a pattern for each
// key attribute, such as 'ORDER#{Date}#{OrderId}'. An item belongs to the entity whose patterns match its key. So the
// key alone decides the entity of an item, unless entities have conditions too.
//
// A pattern binds names to parts of the key. A name binds the text up to the first occurrence of the fixed text that
// follows the name in the pattern. A name at the end of the pattern binds the rest. No name binds an empty text. A
// pattern that is a single name, such as '{Id}', binds a whole key attribute of any type. A name that is twice in a key
// must bind the same value both times.
//
// Start reading at key_pattern.go and entity.go. entity_scope.go has the names that a rule about some entities can
// read. pattern_overlap.go decides whether a key can match two entities. declared_shape.go checks paths against
// declared attributes, and sampled_shape.go makes shapes of sampled items.
package entity
