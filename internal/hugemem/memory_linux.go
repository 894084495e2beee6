package hugemem

import "golang.org/x/sys/unix"

func mapWords(n int) []uint64 {
	b, err := unix.Mmap(-1, 0, n*8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil
	}
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // only faster; refused by some kernels
	return wordsOf(b)
}

func unmapWords(t []uint64) { _ = unix.Munmap(bytesOf(t)) }

// dropWords gives the memory of a mapped piece back; its contents are lost.
func dropWords(t []uint64) {
	if b := bytesOf(t); len(b) >= hugeFrom {
		_ = unix.Madvise(b, unix.MADV_DONTNEED) // only smaller
	}
}
