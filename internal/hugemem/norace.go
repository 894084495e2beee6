//go:build !race

package hugemem

const onHeap = false
