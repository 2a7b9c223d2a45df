from .batch import Batch as Batch
from .executors import cores as cores
from .job import number_of_trajectories as number_of_trajectories
