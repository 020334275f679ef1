// Package eventruler runs Amazon's event-ruler, the library behind the patterns of EventBridge. It says which records
// an event source mapping of Lambda with a FilterCriteria would send to its function. Lambda documents the same rules
// for its filters. It is not documented that Lambda runs this very library.
//
// The program is app/EventRuler.java, with the version that app/pom.xml names. It needs a JDK 17 and Maven, and is
// built once into the cache of test/server.
package eventruler
