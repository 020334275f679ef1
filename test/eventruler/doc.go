// Package eventruler asks Amazon's event-ruler, the library behind the patterns of EventBridge,
// which records a Lambda event source mapping with a FilterCriteria would hand to its function.
// Lambda documents the same rules for its filters; that Lambda runs this very library is not
// documented.
//
// The program is app/EventRuler.java, on the version that app/pom.xml names; it needs a JDK 17 and Maven, and is built
// once into the cache of test/server.
package eventruler
