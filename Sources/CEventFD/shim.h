// Wakes a thread that sleeps on descriptors (eventfd(2)); not in Swift's Glibc module.
#include <sys/eventfd.h>
