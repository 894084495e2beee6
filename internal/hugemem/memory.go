// Package hugemem allocates large tables outside the Go heap, with large pages
// where the system has them, so that they can be given back at once.
package hugemem

import "unsafe"

// hugeFrom is the size from which tables are mapped on their own, so that they
// can be given back at once and use large pages.
const hugeFrom = 1 << 20

// Alloc allocates n zeroed words.
func Alloc(n int) []uint64 {
	if n*8 >= hugeFrom && !onHeap {
		if t := mapWords(n); t != nil {
			return t
		}
	}
	return make([]uint64, n)
}

// Free gives back a table made by Alloc; it must not be used any more.
func Free(t []uint64) {
	if len(t)*8 >= hugeFrom && !onHeap {
		unmapWords(t)
	}
}

func wordsOf(b []byte) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}

func bytesOf(t []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(t))), len(t)*8)
}

// Drop gives back the memory of part of a table. Its contents are lost; the part
// must not be used any more.
func Drop(t []uint64) {
	if !onHeap {
		dropWords(t)
	}
}
