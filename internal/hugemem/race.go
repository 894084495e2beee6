//go:build race

package hugemem

// onHeap: the race detector does not see atomic operations on mapped memory and
// would report the states that they publish.
const onHeap = true
