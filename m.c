#define _GNU_SOURCE
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <pthread.h>
static double now(){struct timespec t;clock_gettime(CLOCK_MONOTONIC,&t);return t.tv_sec+t.tv_nsec*1e-9;}
__attribute__((target("avx512bw,avx512f,popcnt")))
static size_t cnt(const char*p,size_t n){ size_t c=0,c1=0,c2=0,c3=0; __m512i nl=_mm512_set1_epi8('\n'); size_t i=0;
 for(;i+256<=n;i+=256){ _mm_prefetch(p+i+2048,_MM_HINT_T0);
  c+=__builtin_popcountll(_mm512_cmpeq_epi8_mask(_mm512_loadu_si512(p+i),nl));
  c1+=__builtin_popcountll(_mm512_cmpeq_epi8_mask(_mm512_loadu_si512(p+i+64),nl));
  c2+=__builtin_popcountll(_mm512_cmpeq_epi8_mask(_mm512_loadu_si512(p+i+128),nl));
  c3+=__builtin_popcountll(_mm512_cmpeq_epi8_mask(_mm512_loadu_si512(p+i+192),nl));}
 for(;i<n;i++) c+=p[i]=='\n'; return c+c1+c2+c3;}
static int fd; static size_t S; 
static int mode; static size_t win; static int nt;
struct job{size_t a,b,c;};
static void* run(void*v){struct job*j=v; size_t c=0;
 if(mode==0){ char*buf=aligned_alloc(1<<21,win<(1<<21)?1<<21:win); for(size_t o=j->a;o<j->b;){ size_t m=j->b-o<win?j->b-o:win; ssize_t r=pread(fd,buf,m,o); c+=cnt(buf,r); o+=r;} free(buf);}
 else if(mode==1){ char*p=mmap(0,S,PROT_READ,MAP_SHARED,fd,0); for(size_t o=j->a;o<j->b;o+=win){size_t m=j->b-o<win?j->b-o:win; c+=cnt(p+o,m);} munmap(p,S);}
 else if(mode==2){ char*p=mmap(0,S,PROT_READ,MAP_SHARED,fd,0); for(size_t o=j->a;o<j->b;o+=win){size_t m=j->b-o<win?j->b-o:win; madvise(p+o,m,22/*POPULATE_READ*/); c+=cnt(p+o,m);} munmap(p,S);}
 else if(mode==3){ char*p=mmap(0,S,PROT_READ,MAP_SHARED,fd,0); for(size_t o=j->a;o<j->b;o+=win){size_t m=j->b-o<win?j->b-o:win; madvise(p+o,m,22); c+=cnt(p+o,m); madvise(p+o,m,MADV_DONTNEED);} munmap(p,S);}
 else if(mode==4){ char*p=mmap(0,S,PROT_READ,MAP_SHARED,fd,0); madvise(p,S,MADV_HUGEPAGE); for(size_t o=j->a;o<j->b;o+=win){size_t m=j->b-o<win?j->b-o:win; madvise(p+o,m,22); c+=cnt(p+o,m);} munmap(p,S);}
 else if(mode==5){ char*p=mmap(0,S,PROT_READ,MAP_SHARED,fd,0); for(size_t o=j->a;o<j->b;o+=win){size_t m=j->b-o<win?j->b-o:win; int r=madvise(p+o,m,25); if(r&&o==j->a)perror("collapse"); c+=cnt(p+o,m);} munmap(p,S);}
 else if(mode==6){ for(size_t o=j->a;o<j->b;o+=win){size_t m=j->b-o<win?j->b-o:win; char*p=mmap(0,m,PROT_READ,MAP_SHARED|MAP_POPULATE,fd,o); c+=cnt(p,m); munmap(p,m);} }
 j->c=c; return 0;}
int main(int ac,char**av){ fd=open(av[1],O_RDONLY); struct stat st; fstat(fd,&st); S=st.st_size; 
 struct {int m;size_t w;const char*n;} t[]={{0,64<<10,"pread64K"},{0,128<<10,"pread128K"},{0,256<<10,"pread256K"},{0,512<<10,"pread512K"},{0,1<<20,"pread1M"},{0,2<<20,"pread2M"},{1,1<<21,"mmap"},{2,1<<20,"populate1M"},{2,1<<21,"populate2M"},{2,8<<20,"populate8M"},{3,2<<20,"pop2M+dontneed"},{6,2<<20,"map window2M"},{6,32<<20,"map window32M"},{4,2<<20,"hugepage+pop2M"},{5,2<<20,"collapse2M"}};
 for(int rep=0;rep<3;rep++) for(nt=1;nt<=2;nt++) for(unsigned k=0;k<sizeof t/sizeof*t;k++){ mode=t[k].m;win=t[k].w; double a=now(); pthread_t th[2]; struct job j[2]; size_t h=S/2&~((32<<20)-1); j[0].a=0;j[0].b=nt==1?S:h; j[1].a=h;j[1].b=S; for(int i=0;i<nt;i++)pthread_create(th+i,0,run,j+i); for(int i=0;i<nt;i++)pthread_join(th[i],0); double d=now()-a; if(rep)printf("%-16s t%d %6.2f GB/s\n",t[k].n,nt,S/d/1e9);} 
}
